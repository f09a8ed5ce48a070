import type { ClientToolDefinition } from '@chirality/core'
import { expect, test } from 'vitest'
import { serveClientTools } from './serve-client-tools.ts'

const TOOL: ClientToolDefinition = {
  name: 'ask',
  description: 'Asks a person.',
  inputSchema: { type: 'object' },
  handler: async () => ({ content: 'yes' }),
}

test('the limit of a handler is the one of the query', async () => {
  const served = serveClientTools({ clientTools: [TOOL], clientToolTimeoutMs: 0 }, 'claude-code')
  await expect(served).rejects.toMatchObject({ message: expect.stringContaining('deadlineMs is 0') })
})

test('tools are served without a limit of the query', async () => {
  const { toolNames, stop } = await serveClientTools({ clientTools: [TOOL] }, 'claude-code')
  expect(toolNames).toEqual(['mcp____harness_client_tools__ask'])
  await stop()
})
