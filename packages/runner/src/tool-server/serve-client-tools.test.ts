import { expect, test } from 'vitest'
import { serveClientTools } from './serve-client-tools.ts'

const ECHO = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  handler: async () => ({ content: '' }),
}
const OTHER = { type: 'http', url: 'http://127.0.0.1:9/mcp' } as const

test('a query without client tools keeps its servers, and nothing is started', async () => {
  const served = await serveClientTools({ mcpServers: { other: OTHER }, clientTools: [] }, 'x')
  expect(served).toMatchObject({ mcpServers: { other: OTHER }, toolNames: [] })
  expect(served.serverName).toBeUndefined()
  await served.stop()
})

test('client tools come beside the servers of the query', async () => {
  const served = await serveClientTools({ mcpServers: { other: OTHER }, clientTools: [ECHO] }, 'x')
  await served.stop()
  expect(served.serverName).toBe('__harness_client_tools')
  expect(Object.keys(served.mcpServers)).toEqual(['other', '__harness_client_tools'])
  expect(served.toolNames).toEqual(['mcp____harness_client_tools__echo'])
})

test('a server of the same name is not replaced in silence', async () => {
  const query = { mcpServers: { __harness_client_tools: OTHER }, clientTools: [ECHO] }
  await expect(serveClientTools(query, 'codex')).rejects.toMatchObject({
    code: 'invalid_query',
    harnessId: 'codex',
  })
})
