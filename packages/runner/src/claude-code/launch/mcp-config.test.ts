import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { McpServerConfig } from '@chirality/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeMcpConfigJson } from './temp-files.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-mcp-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function written(servers: Record<string, McpServerConfig>): Promise<unknown> {
  const file = path.join(folder, 'mcp.json')
  await writeMcpConfigJson(servers, file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  return JSON.parse(readFileSync(file, 'utf8'))
}

test('a stdio server', async () => {
  const server: McpServerConfig = {
    type: 'stdio',
    command: 'npx',
    args: ['my-server'],
    env: { API_KEY: 'xxx' },
    cwd: '/work',
  }
  expect(await written({ mine: server })).toEqual({
    mcpServers: { mine: { command: 'npx', args: ['my-server'], env: { API_KEY: 'xxx' }, cwd: '/work' } },
  })
})

test('an HTTP server with headers', async () => {
  const server: McpServerConfig = {
    type: 'http',
    url: 'https://mcp.example.com',
    headers: { Authorization: 'Bearer x' },
  }
  expect(await written({ remote: server })).toEqual({ mcpServers: { remote: server } })
})

test('several servers, the least that each can be', async () => {
  expect(
    await written({ a: { type: 'stdio', command: 'a' }, b: { type: 'http', url: 'http://127.0.0.1/mcp' } }),
  ).toEqual({ mcpServers: { a: { command: 'a' }, b: { type: 'http', url: 'http://127.0.0.1/mcp' } } })
})

test('never over a file that is there already', async () => {
  const file = path.join(folder, 'mcp.json')
  writeFileSync(file, 'mine')
  await expect(writeMcpConfigJson({}, file)).rejects.toMatchObject({ code: 'EEXIST' })
  expect(readFileSync(file, 'utf8')).toBe('mine')
})
