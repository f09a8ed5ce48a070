// An agent of the Agent Client Protocol that does what it should, but for the fault that its first argument names.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

const [, , fault] = process.argv
const tool = {
  type: 'function',
  function: {
    name: 'shell',
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
}
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const sessionId = fault === 'other-session' ? 'two' : 'one'
const update = content => send({ method: 'session/update', params: { sessionId, update: content } })
const say = text => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const asked = new Map()
const history = []
const steered = []
let stop = new AbortController()
let calls = 0
let requests = 0

const METHODS = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: 'faulty-agent', version: '1.2.3' },
    agentCapabilities: {},
    ...(fault === 'steers' ? { _meta: { steering: { supported: true } } } : {}),
  }),
  '_session/steering': ({ prompt }) => {
    steered.push(prompt.map(({ text }) => text).join('\n'))
    return { outcome: 'injected' }
  },
  'session/new': () => {
    if (fault === 'not-set-up')
      throw new Error(`${'The words of a program go on and on. '.repeat(12)}Log in.`)
    return { sessionId: 'one' }
  },
  'session/prompt': async ({ prompt }) => {
    stop = new AbortController()
    history.push({ role: 'user', content: prompt.map(({ text }) => text).join('\n') })
    try {
      const usage = await converse()
      return { stopReason: 'end_turn', usage }
    } catch (error) {
      if (!stop.signal.aborted) throw error
      return { stopReason: 'cancelled' }
    }
  },
}

async function converse() {
  const total = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  for (;;) {
    const { text, called, usage } = await ask()
    for (const kind of Object.keys(total)) total[kind] += usage[kind]
    history.push({ role: 'assistant', content: text, ...(called ? { tool_calls: [called] } : {}) })
    if (!called && steered.length > 0) {
      history.push({ role: 'user', content: steered.shift() })
      continue
    }
    if (!called) return fault === 'usage-of-the-last-call' ? usage : total
    history.push({ role: 'tool', tool_call_id: called.id, content: await run(called) })
  }
}

async function run({ function: { arguments: input } }) {
  const { command } = JSON.parse(input)
  const toolCallId = `call-${++calls}`
  const toolCall = { toolCallId, title: command, kind: 'execute', rawInput: { command }, status: 'pending' }
  update({ sessionUpdate: 'tool_call', ...toolCall })
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ]
  const { outcome } = await request('session/request_permission', { sessionId: 'one', toolCall, options })
  stop.signal.throwIfAborted()
  if (outcome?.optionId !== 'yes') {
    update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' })
    return 'The user said no.'
  }
  const output = await outputOf(command)
  const content = [{ type: 'content', content: { type: 'text', text: output } }]
  for (let times = fault === 'result-told-twice' ? 2 : 1; times > 0; times -= 1)
    update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content })
  return fault === 'result-kept' ? 'ok' : output
}

function outputOf(command) {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
    let output = ''
    child.stdout.on('data', data => {
      output += data
    })
    child.on('close', () => (stop.signal.aborted ? reject(stop.signal.reason) : resolve(output)))
    stop.signal.addEventListener(
      'abort',
      () => child.exitCode === null && process.kill(-child.pid, 'SIGKILL'),
    )
  })
}

function request(method, params) {
  const id = `request-${++requests}`
  send({ id, method, params })
  return new Promise(resolve => asked.set(id, resolve))
}

async function ask() {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'any',
      messages: history,
      tools: [tool],
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal: stop.signal,
  })
  if (!response.ok) throw new Error((await response.json()).error.message)
  let [text, called, tokens, held] = ['', undefined, {}, undefined]
  const answer = createInterface({ input: Readable.fromWeb(response.body) })
  for await (const line of answer) {
    if (!line.startsWith('data: {')) continue
    const { choices = [], usage } = JSON.parse(line.slice('data: '.length))
    const { content, tool_calls } = choices[0]?.delta ?? {}
    if (usage) tokens = usage
    if (content) {
      text += content
      if (fault === 'chunks-out-of-order') {
        if (held === undefined) held = content
        else {
          say(content)
          say(held)
          held = undefined
        }
      } else if (fault !== 'answer-cut-at-64-kb' || text.length <= 65_536) say(content)
      if (fault === 'chunks-twice') say(content)
    }
    for (const part of tool_calls ?? []) {
      called ??= { id: part.id, type: 'function', function: { name: part.function.name, arguments: '' } }
      called.function.arguments += part.function.arguments ?? ''
    }
  }
  if (held !== undefined) say(held)
  const usage = { inputTokens: tokens.prompt_tokens, outputTokens: tokens.completion_tokens }
  return { text, called, usage: { ...usage, totalTokens: tokens.total_tokens } }
}

createInterface({ input: process.stdin })
  .on('line', async line => {
    const { id, method, params, result } = JSON.parse(line)
    if (method === undefined) return asked.get(id)?.(result ?? {})
    if (method === 'session/cancel' && fault !== 'deaf-to-cancel') stop.abort(new Error('cancelled'))
    const answer = METHODS[method]
    if (id === undefined) return
    if (!answer) return send({ id, error: { code: -32601, message: `no ${method}` } })
    try {
      send({ id, result: await answer(params) })
      if (method === 'session/prompt' && fault === 'text-after-the-end') say('One more thing.')
    } catch (error) {
      send({ id, error: { code: -32603, message: error.message } })
    }
  })
  .on('close', () => process.exit(0))
