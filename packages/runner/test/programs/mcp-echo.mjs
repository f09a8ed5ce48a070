// An MCP server over stdio with one tool, `shout`.
import { createInterface } from 'node:readline'

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: 'shout',
        description: 'Says the text louder.',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
    ],
  }),
  'tools/call': ({ arguments: { text } }) => ({
    content: [{ type: 'text', text: text.toUpperCase() + (process.env.ECHO_SUFFIX ?? '') }],
  }),
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: `no ${method}` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`)
})
