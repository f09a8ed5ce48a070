// An agent of the Agent Client Protocol that does much of what it should not: it asks nobody, answers in one piece, forgets, ignores
// a stop, and sends an update that no version knows. It talks to its model in Chat Completions.
import { execFileSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const [, , protocolVersion = '1'] = process.argv
const tool = {
  type: 'function',
  function: {
    name: 'shell',
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
}
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const update = content => send({ method: 'session/update', params: { sessionId: 'one', update: content } })

const METHODS = {
  initialize: () => ({
    protocolVersion: Number(protocolVersion),
    agentInfo: { name: 'odd', version: '7.7.7' },
    agentCapabilities: {},
  }),
  'session/new': () => ({ sessionId: 'one' }),
  'session/prompt': async ({ prompt }) => {
    const messages = [{ role: 'user', content: prompt.map(({ text }) => text).join('\n') }]
    const { content, tool_calls = [] } = await ask(messages)
    for (const { function: called } of tool_calls) {
      const { command } = JSON.parse(called.arguments)
      execFileSync('sh', ['-c', command], { stdio: 'ignore' })
      messages.push({ role: 'tool', content: 'done' })
      await ask(messages)
    }
    update({ sessionUpdate: 'from_the_future', value: 1 })
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: content ?? 'Done.' } })
    return { stopReason: 'end_turn' }
  },
}

async function ask(messages) {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'any', messages, tools: [tool] }),
  })
  const body = await response.json()
  return body.choices?.[0].message ?? { content: body.error.message }
}

createInterface({ input: process.stdin }).on('line', async line => {
  const { id, method, params } = JSON.parse(line)
  const answer = METHODS[method]
  if (id === undefined) return
  if (answer) send({ id, result: await answer(params) })
  else send({ id, error: { code: -32601, message: `no ${method}` } })
})
