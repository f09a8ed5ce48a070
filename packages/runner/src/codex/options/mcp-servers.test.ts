import { execFileSync } from 'node:child_process'
import type { McpServerConfig } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { codexMcpServers } from './mcp-servers.ts'

const never = () => false
const STDIO: McpServerConfig = { type: 'stdio', command: 'npx', args: ['server'], cwd: '/work' }

describe('MCP servers for argv', () => {
  const forArgv = (servers: Record<string, McpServerConfig>) =>
    codexMcpServers(servers, { values: 'env', isApproved: never })

  test('no variable of a program is in it, whatever it is called', () => {
    const values = { LOG_LEVEL: 'hush-1', PGPASSWORD: 'hush-2', SLACK_COOKIE: 'hush-3', PATH: '/hush-4' }
    const { config, env } = forArgv({ one: { ...STDIO, env: values } })
    expect(JSON.stringify(config)).not.toContain('hush')
    expect(Object.values(env)).toEqual(Object.values(values))
    expect(config.one).toMatchObject({ cwd: '/work', env_vars: Object.keys(env) })
    expect(Object.keys(env).every(name => name.includes('TOKEN'))).toBe(true)
  })

  test('the program gets its variables under their own names, and no other', () => {
    const values = { PGPASSWORD: `a"b'c $HOME \n`, EMPTY: '' }
    const print = { ...STDIO, command: process.execPath, args: ['-p', 'JSON.stringify(process.env)'] }
    const { config, env } = forArgv({ one: { ...print, env: values } })
    const { command, args } = config.one as { command: string; args: string[] }
    const printed = JSON.parse(execFileSync(command, args, { env, encoding: 'utf8' }))
    expect(printed).toMatchObject(values)
    expect(Object.keys(printed).filter(name => name.startsWith('CHIRALITY'))).toEqual([])
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
    // This part of the name makes Codex hide the variables from commands.
    expect(Object.keys(env).every(name => name.includes('TOKEN'))).toBe(true)
  })

  test('two servers may want different values of one name', () => {
    const withKey = (key: string): McpServerConfig => ({ ...STDIO, env: { API_KEY: key } })
    const { config, env } = forArgv({ one: withKey('a'), two: withKey('b') })
    const values = Object.values(config).map(({ env_vars }) => env[String((env_vars as string[])[0])])
    expect(values).toEqual(['a', 'b'])
  })

  test('an invalid variable name is refused', () => {
    expect(() => forArgv({ one: { ...STDIO, env: { 'A;rm -rf': 'x' } } })).toThrow(
      expect.objectContaining({ code: 'invalid_query' }),
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
  const options = { values: 'inline', isApproved: (name: string) => name === 'web', own: 'web' } as const
  expect(codexMcpServers(servers, options)).toEqual({
    config: {
      web: {
        url: 'http://a',
        http_headers: headers,
        default_tools_approval_mode: 'approve',
        required: true,
        startup_timeout_sec: 60,
      },
      one: { command: 'npx', args: ['server'], cwd: '/work', env: { API_KEY: 'hush' } },
      bare: { url: 'http://b' },
    },
    env: {},
  })
})

test.each(['a.b', '', 'a b', 'a"', 'ä'])('the server name %j is refused', name => {
  const options = { values: 'inline', isApproved: never } as const
  expect(() => codexMcpServers({ [name]: STDIO }, options)).toThrow(
    expect.objectContaining({ code: 'invalid_query' }),
  )
})
