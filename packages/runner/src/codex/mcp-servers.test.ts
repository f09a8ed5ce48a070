import type { McpServerConfig } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { codexMcpServers } from './mcp-servers.ts'

const never = () => false
const STDIO: McpServerConfig = { type: 'stdio', command: 'npx', args: ['server'], cwd: '/work' }

describe('MCP servers for argv', () => {
  const forArgv = (servers: Record<string, McpServerConfig>) =>
    codexMcpServers(servers, { secrets: 'env', isApproved: never })

  test('a program, with what is no secret in plain words', () => {
    const env = { LOG_LEVEL: 'debug', API_KEY: 'hush', DB: 'postgres://me:hush@host/db' }
    expect(forArgv({ one: { ...STDIO, env } })).toEqual({
      config: {
        one: {
          command: 'npx',
          args: ['server'],
          cwd: '/work',
          env: { LOG_LEVEL: 'debug' },
          env_vars: ['API_KEY', 'DB'],
        },
      },
      env: { API_KEY: 'hush', DB: 'postgres://me:hush@host/db' },
    })
  })

  test('no header of an address is in it, whatever it is called', () => {
    const one: McpServerConfig = { type: 'http', url: 'http://a', headers: { Authorization: 'Bearer hush' } }
    const two: McpServerConfig = {
      type: 'http',
      url: 'http://b',
      headers: { 'X-Who': 'me', 'X-Key': 'hush' },
    }
    const { config, env } = forArgv({ 'a-b': one, a_b: two })
    expect(JSON.stringify(config)).not.toMatch(/hush|"me"/)
    const named = Object.values(config).flatMap(({ env_http_headers }) =>
      Object.entries(env_http_headers as Record<string, string>),
    )
    expect(named.map(([header, variable]) => [header, env[variable]])).toEqual([
      ['Authorization', 'Bearer hush'],
      ['X-Who', 'me'],
      ['X-Key', 'hush'],
    ])
    // The word that makes Codex keep them from commands.
    expect(Object.keys(env).every(name => name.includes('TOKEN'))).toBe(true)
  })

  test('one secret of one name for two servers can be carried, two cannot', () => {
    const withKey = (key: string): McpServerConfig => ({ ...STDIO, env: { API_KEY: key } })
    expect(forArgv({ one: withKey('a'), two: withKey('a') }).env).toEqual({ API_KEY: 'a' })
    expect(() => forArgv({ one: withKey('a'), two: withKey('b') })).toThrow(
      expect.objectContaining({ code: 'invalid_query', message: expect.stringContaining('API_KEY') }),
    )
  })
})

test('through a pipe everything is said as it is', () => {
  const headers = { Authorization: 'Bearer hush' }
  const servers: Record<string, McpServerConfig> = {
    web: { type: 'http', url: 'http://a', headers },
    one: { ...STDIO, env: { API_KEY: 'hush' } },
    bare: { type: 'http', url: 'http://b' },
  }
  const options = { secrets: 'inline', isApproved: (name: string) => name === 'web', own: 'web' } as const
  expect(codexMcpServers(servers, options)).toEqual({
    config: {
      web: {
        ...{ url: 'http://a', http_headers: headers, default_tools_approval_mode: 'approve' },
        ...{ required: true, startup_timeout_sec: 60 },
      },
      one: { command: 'npx', args: ['server'], cwd: '/work', env: { API_KEY: 'hush' } },
      bare: { url: 'http://b' },
    },
    env: {},
  })
})

test.each(['a.b', '', 'a b', 'a"', 'ä'])('%j is no name for a server', name => {
  const options = { secrets: 'inline', isApproved: never } as const
  expect(() => codexMcpServers({ [name]: STDIO }, options)).toThrow(
    expect.objectContaining({ code: 'invalid_query' }),
  )
})
