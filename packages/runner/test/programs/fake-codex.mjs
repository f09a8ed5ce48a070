// Stands in for `codex`, in both voices. The first argument says in what way its app-server misbehaves.
import { appendFileSync, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [, , way, ...args] = process.argv
const print = message => process.stdout.write(`${JSON.stringify(message)}\n`)
const threadId = '00000000-0000-4000-8000-00000000c0de'
const turnId = 'turn-1'
/** What was answered to the request that comes after a turn, and who waits for it. */
let late
let onLate
const CLEAN = 'thread/backgroundTerminals/clean'
/** Ways in which a turn does not end by itself. */
const ENDLESS = new Set(['deaf', 'hangs', `ignores:${CLEAN}`, `lacks:${CLEAN}`])

if (args.includes('--version') && way.startsWith('version:'))
  process.stdout.write(`codex-cli ${way.slice(8)}\n`)
else if (args.includes('exec')) exec()
else if (way === 'missing') fail("error: unrecognized subcommand 'app-server'", 2)
else appServer()

function exec() {
  print({ type: 'thread.started', thread_id: threadId })
  print({ type: 'turn.started' })
  if (way === 'unknown') print({ type: 'from.the.future', value: 1 })
  if (way === 'garbage') process.stdout.write('not JSON\n')
  print({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'From exec.' } })
  print({ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } })
  if (way === 'lingers') setInterval(() => {}, 1000)
}

function appServer() {
  createInterface({ input: process.stdin })
    .on('line', line => answer(JSON.parse(line)))
    .on('close', () => process.exit(0))
}

function answer(message) {
  const { id, method, params } = message
  // Never answered; a file tells that it was heard.
  if (way === `ignores:${method}`) return appendFileSync(`${process.env.FAKE_AGENT}.hangs`, method)
  if (way.startsWith('lacks:'))
    appendFileSync(`${process.env.FAKE_AGENT}.asked`, `${method} ${JSON.stringify(params)}\n`)
  // In the words of an old Codex for a method that it does not have.
  if (way === `lacks:${method}`) {
    const error = `Invalid request: unknown variant \`${method}\`, expected one of \`initialize\`, \`thread/start\``
    return print({ id, error: { code: -32600, message: error } })
  }
  if (method === 'initialize') return handshake(id)
  if (method === 'account/login/start') return print({ id, result: {} })
  if (method === 'thread/start' || method === 'thread/resume')
    return print({ id, result: { thread: { id: threadId }, model: 'fake' } })
  if (method === 'turn/start') return startTurn(id)
  if (method === 'turn/interrupt') return way === 'deaf' ? undefined : endTurn('interrupted')
  if (method === CLEAN) return print({ id, result: {} })
  // The answer to our own request: say what it was, and be done.
  if (id === 'ask') {
    if (way === 'floods') appendFileSync(`${process.env.FAKE_AGENT}.heard`, 'all')
    const text = JSON.stringify(message.error ?? message.result)
    notify('item/completed', { turnId, item: { type: 'agentMessage', id: 'm', text } })
    return endTurn('completed')
  }
  if (id === 'late') {
    late = message
    appendFileSync(`${process.env.FAKE_AGENT}.answered`, 'yes')
    return onLate?.()
  }
  if (id !== undefined)
    print({ id, error: { code: -32601, message: `no ${method} ${JSON.stringify(params)}` } })
}

function handshake(id) {
  if (way === 'mute') return
  if (way === 'rude') return print({ id, error: { code: -32600, message: 'not with you' } })
  if (way === 'garbage') process.stdout.write('not JSON\n[1]\n{"neither":"nor"}\n')
  print({ id, result: { userAgent: 'fake/9.9.9' } })
}

function startTurn(id) {
  if (way === 'refuses') return print({ id, error: { code: -32600, message: 'no turns today' } })
  print({ id, result: { turn: { id: turnId } } })
  notify('turn/started', { turn: { id: turnId } })
  notify('item/agentMessage/delta', { turnId, itemId: 'm', delta: 'So far.' })
  if (way === 'dies-once' && !existsSync(`${process.env.FAKE_AGENT}.died`)) {
    appendFileSync(`${process.env.FAKE_AGENT}.died`, 'yes')
    return fail('Segmentation fault', 139)
  }
  if (way === 'asks-late') return askLate()
  if (way === 'unknown') notify('from/the/future', { value: 1 })
  if (way === 'unknown-of-process') print({ method: 'from/the/future', params: { value: 1 } })
  if (way.startsWith('asks:')) return print({ id: 'ask', method: way.slice(5), params: { threadId, turnId } })
  if (way === 'floods')
    for (let count = 0; count < 1000; count += 1)
      notify('item/agentMessage/delta', { turnId, itemId: 'm', delta: String(count).padEnd(65_536, '.') })
  if (way === 'asks-nobody' || way === 'floods')
    return print({ id: 'ask', method: 'who/is/there', params: {} })
  if (!ENDLESS.has(way)) endTurn('completed')
}

/** The first turn ends, and then something is asked. The second tells the answer, and does not end without one. */
function askLate() {
  if (!existsSync(`${process.env.FAKE_AGENT}.asked`)) {
    appendFileSync(`${process.env.FAKE_AGENT}.asked`, 'yes')
    endTurn('completed')
    return print({
      id: 'late',
      method: 'item/commandExecution/requestApproval',
      params: { threadId, turnId, command: 'x' },
    })
  }
  onLate = () => {
    const text = JSON.stringify(late.error ?? late.result)
    notify('item/completed', { turnId, item: { type: 'agentMessage', id: 'm', text } })
    endTurn('completed')
  }
  if (late) onLate()
}

function endTurn(status) {
  notify('turn/completed', { turn: { id: turnId, status, items: [] } })
}

function notify(method, params) {
  print({ method, params: { threadId, ...params } })
}

function fail(message, code) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
