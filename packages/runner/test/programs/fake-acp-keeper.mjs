#!/usr/bin/env node
// An agent of the Agent Client Protocol that keeps conversations, and lists or repeats them as FAKE_ACP says.
import { appendFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

const behaviour = process.env.FAKE_ACP ?? 'good'
const FOLDER = process.env.FAKE_FOLDER
appendFileSync(path.join(homedir(), 'started-in'), `${process.cwd()}\n`)
const size = Number(behaviour.split('-')[1])
let pages = 0
let loadId
let id = 'one'
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const update = (update, sessionId = id) => send({ method: 'session/update', params: { sessionId, update } })
const chunk = (kind, text, more) =>
  update({ sessionUpdate: `${kind}_message_chunk`, content: { type: 'text', text }, ...more })
const entry = (sessionId, more) => ({ sessionId, cwd: FOLDER, title: `About ${sessionId}`, ...more })

let buffer = ''
process.stdin.on('data', data => {
  buffer += data
  const lines = buffer.split('\n')
  buffer = lines.pop()
  for (const line of lines) hear(JSON.parse(line))
})
if (behaviour === 'deaf') {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  setInterval(() => {}, 1_000_000)
} else process.stdin.on('end', () => process.exit(0))

function hear({ id: requestId, method, params, error }) {
  switch (method) {
    case 'initialize': {
      const list = behaviour === 'lists-nothing' ? {} : { sessionCapabilities: { list: {} } }
      const agentCapabilities = { loadSession: behaviour !== 'loads-nothing', ...list }
      return send({ id: requestId, result: { protocolVersion: 1, agentCapabilities } })
    }
    case 'session/list':
      return list(requestId)
    case 'session/load':
      loadId = requestId
      id = params.sessionId
      return load(requestId)
    default:
      if (requestId === 'ask') {
        chunk('agent', `answered ${error?.code}`)
        send({ id: loadId, result: {} })
      }
  }
}

function list(requestId) {
  const give = (sessions, nextCursor) => send({ id: requestId, result: { sessions, nextCursor } })
  pages += 1
  switch (behaviour) {
    case 'deaf':
      return writeFileSync(path.join(homedir(), 'is-asked'), '')
    case 'hangs':
      return
    case 'dies':
      return process.exit(3)
    case 'refuses':
      return send({ id: requestId, error: { code: -32000, message: 'Authentication required' } })
    case 'endless':
      return give([entry(`page-${pages}`)], `c${pages}`)
    case 'empty-endless':
      return give([], `c${pages}`)
    case 'repeats-cursor':
      return give([entry(`page-${pages}`)], 'again')
    case 'many':
      return give(
        Array.from({ length: 100_000 }, (_, at) =>
          entry(`c${at}`, { updatedAt: new Date(at * 1000).toISOString() }),
        ),
      )
    case 'collides':
      return give([
        entry('one', { title: 'First', updatedAt: '2026-01-01T00:00:00Z' }),
        entry('one', { title: 'Second', updatedAt: '2026-02-01T00:00:00Z' }),
      ])
    case 'elsewhere':
      return give([entry('one', { cwd: '/' }), entry('two', { cwd: 'relative' }), entry('three')])
    case 'odd':
      return give([
        null,
        7,
        { sessionId: 5, cwd: FOLDER },
        entry(''),
        entry('with\nbreak'),
        entry('x'.repeat(201)),
        { sessionId: 'no-folder' },
        entry('one', { title: '\u001b[31mred\u0007\u202etxt.exe\nnext line', updatedAt: 'yesterday' }),
        entry('two', { title: null, updatedAt: 12 }),
        entry('three', { title: 'y'.repeat(1_000_000), updatedAt: '2026-01-01T00:00:00Z' }),
      ])
    case 'long-id':
      return give([entry('x'.repeat(200))])
    case 'no-list':
      return send({ id: requestId, result: { sessions: 'none' } })
    default:
      return give([entry('one', { updatedAt: '2026-03-01T00:00:00Z' })])
  }
}

async function load(requestId) {
  const done = () => send({ id: requestId, result: {} })
  switch (behaviour) {
    case 'hangs-loading':
      return
    case 'dies-loading':
      chunk('user', 'Hi')
      return process.exit(3)
    case 'refuses-loading':
      return send({ id: requestId, error: { code: -32002, message: 'It is damaged' } })
    case 'asks-loading':
      chunk('user', 'Hi')
      return send({
        id: 'ask',
        method: 'session/request_permission',
        params: {
          sessionId: id,
          toolCall: { toolCallId: 'c1', title: 'rm', kind: 'execute' },
          options: [{ optionId: 'yes', kind: 'allow_once', name: 'Yes' }],
        },
      })
    case `big-${size}`: {
      // In turns of 1 MB.
      const text = 'x'.repeat(1024 * 1024)
      for (let at = 0; at < size; at += 1) {
        chunk('user', `Message ${at}`)
        chunk('agent', text)
        if (process.stdout.writableNeedDrain) await new Promise(go => process.stdout.once('drain', go))
      }
      return done()
    }
    case 'odd-updates':
      chunk('agent', 'Before any message.')
      update({
        sessionUpdate: 'tool_call',
        toolCallId: 'c1',
        title: 'ls',
        kind: 'execute',
        status: 'pending',
      })
      chunk('user', 'One, ', { messageId: 'm1' })
      chunk('user', 'in two parts', { messageId: 'm1' })
      update({ sessionUpdate: 'user_message_chunk', messageId: 'm1', content: { type: 'image', data: 'AA' } })
      chunk('user', '<system-instructions>\nBe brief\n</system-instructions>', { messageId: 'm2' })
      chunk('user', 'Unanswered', { messageId: 'm2' })
      chunk('user', 'Last', { messageId: 'm3' })
      update(
        {
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: 'of another' },
        },
        'other',
      )
      update({ sessionUpdate: 'from_the_future' })
      update({ sessionUpdate: 'usage_update', used: 1, size: 2 })
      update(null)
      update({
        ...{
          sessionUpdate: 'tool_call',
          toolCallId: 'c2',
          title: 'echo hi',
          kind: 'execute',
          status: 'completed',
        },
        rawInput: { command: 'echo hi' },
        _meta: { timestamp: 1_790_000_000_000 },
      })
      update({
        ...{ sessionUpdate: 'tool_call_update', toolCallId: 'c2' },
        _meta: { timestamp: 1e300, terminal_output: { data: 'hi\n', terminal_id: 'c2' } },
      })
      chunk('agent', 'Done.')
      return done()
    case 'empty':
      return done()
    default:
      chunk('user', 'Hi')
      chunk('agent', 'Hello.')
      return done()
  }
}
