// An MCP server over stdio with one tool, `refund`, which pays back what it is told to.
import { createInterface } from 'node:readline'

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'shop', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: 'refund',
        description: 'Pays an amount back.',
        inputSchema: {
          type: 'object',
          properties: { order: { type: 'string' }, amount: { type: 'number' } },
          required: ['order', 'amount'],
        },
      },
    ],
  }),
  'tools/call': ({ arguments: { order, amount } }) => ({
    content: [{ type: 'text', text: `${order}: ${amount} paid back` }],
  }),
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: `no ${method}` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`)
})
