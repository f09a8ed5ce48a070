// Gives the agents of the benchmark their lines: each so many a second, each with the time at which it was written. In a
// process of its own, so that neither the server nor the client pays for it.
import { openSync, readdirSync, writeSync } from 'node:fs'
import path from 'node:path'

const SESSION = 'f8bf5002-87b0-4c34-becf-4cdee08ea9a0'
const UUID = 'cc8ce5cc-d2bd-4516-a384-c09a31ea14dd'

process.on('message', command => void speak(command))
process.send?.('ready')

async function speak({ pipes, agents, perSecond, warmSeconds, seconds }) {
  const fds = await openPipes(pipes, agents)
  for (const fd of fds) for (const event of BEGINNING) writeSync(fd, line(event))
  // A server that has just started still compiles what it runs.
  await say(fds, { perSecond, seconds: warmSeconds, text: () => 'words, words ' })
  await new Promise(resolve => setTimeout(resolve, 500))
  process.send?.('warm')
  await say(fds, { perSecond, seconds, text: stamped })
  process.send?.('done')
}

/** One after the other, evenly: agents do not speak in step. */
async function say(fds, { perSecond, seconds, text }) {
  const total = perSecond * seconds * fds.length
  const started = performance.now()
  for (let done = 0; done < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - started) / 1000) * perSecond * fds.length))
    for (; done < due; done += 1) writeSync(fds[done % fds.length], delta(text()))
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

/** An agent has its pipe once it got its message. */
async function openPipes(folder, agents) {
  for (;;) {
    const names = readdirSync(folder)
    if (names.length >= agents) return names.map(name => openSync(path.join(folder, name), 'w'))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** The clock that all processes of the machine share. */
function stamped() {
  return `@${(Number(process.hrtime.bigint()) / 1e6).toFixed(3)}@ and so on `
}

function delta(text) {
  return line({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
}

function line(event) {
  const stream = event.type.startsWith('content_') || event.type.startsWith('message_')
  const value = stream ? { type: 'stream_event', event, parent_tool_use_id: null } : event
  return `${JSON.stringify({ ...value, session_id: SESSION, uuid: UUID })}\n`
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  content: [],
  usage: { input_tokens: 12, output_tokens: 1 },
}
const BEGINNING = [
  {
    type: 'system',
    subtype: 'init',
    cwd: '/',
    tools: [],
    mcp_servers: [],
    model: 'claude-opus-5-5',
    permissionMode: 'default',
    claude_code_version: '2.1.325',
  },
  { type: 'message_start', message: MESSAGE },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
]
