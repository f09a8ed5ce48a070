// @ts-check
// Runs the Agent SDK's query() away from the main thread. Plain JavaScript, so that it runs as it is from the sources
// and from the build. It holds no process: the agent is started by the main thread, which must not lose it with us.
import { randomUUID } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { BridgedProcess } from './bridged-process.mjs'

/** @typedef {import('./protocol/worker-messages.ts').WorkerRequest} WorkerRequest */
/** @typedef {import('./protocol/worker-messages.ts').WorkerResponse} WorkerResponse */
/** @typedef {import('./protocol/worker-messages.ts').StartRequest} StartRequest */

/** Longer than any decision takes: the agent continues when a hook times out. */
const HOOK_TIMEOUT_S = 7 * 24 * 3600

const MAX_EARLY = 100

const port = parentPort
if (port === null) throw new Error('worker.mjs runs in a Worker.')

const abort = new AbortController()
const messages = messageQueue()
const agent = new BridgedProcess(post)
/** @type {Map<string, (output: Record<string, unknown>) => void>} */
const waiting = new Map()
/** Decisions that arrived before the SDK's request: both are sent at the same time. */
/** @type {Map<string, Record<string, unknown>>} */
const early = new Map()
/** @type {any} */
let query

port.on('message', (/** @type {WorkerRequest} */ request) => {
  switch (request.type) {
    case 'start':
      void run(request.start)
      return
    case 'message':
      messages.push(request.message)
      return
    case 'decision':
      decided(request.requestId, request.output)
      return
    case 'control':
      void control(request)
      return
    case 'stdout':
      agent.stdout.write(request.text)
      return
    case 'exit':
      agent.end(request.code, request.signal)
      return
    case 'finish':
      messages.end()
      return
    case 'abort':
      abort.abort()
  }
})
post({ type: 'ready' })

/** @param {StartRequest} start */
async function run(start) {
  try {
    const sdk = await import(start.sdkUrl)
    query = sdk.query({
      prompt: messages,
      options: {
        ...start.options,
        abortController: abort,
        canUseTool,
        hooks: hooksFor(start),
        spawnClaudeCodeProcess: (/** @type {any} */ options) => agent.spawn(options),
      },
    })
    for await (const message of query) {
      if (message.type === 'result' || (message.type === 'system' && message.subtype === 'init'))
        post({ type: 'sdk_message', message })
    }
    post({ type: 'done' })
  } catch (error) {
    if (abort.signal.aborted) post({ type: 'done' })
    else post({ type: 'error', error: error instanceof Error ? error.message : String(error) })
  }
}

/**
 * @param {string} toolName
 * @param {Record<string, unknown>} input
 * @param {{ signal: AbortSignal, toolUseID?: string, requestId?: string }} context
 */
async function canUseTool(toolName, input, { signal, toolUseID, requestId: id }) {
  // Every version sends the id of the call; only 0.3.199 and later send that of the request.
  const requestId = toolUseID ?? id
  // Without an id the answer could not be matched to its request.
  if (requestId === undefined)
    return { behavior: 'deny', message: 'This version of the Agent SDK is too old to ask.' }
  return ask({ type: 'permission', requestId, toolName, input }, signal, {
    behavior: 'deny',
    message: 'The request was withdrawn.',
  })
}

/** @param {StartRequest} start */
function hooksFor({ hooks, blockOnHookFailure, guardRefusal }) {
  /** @type {Record<string, unknown[]>} */
  const registered = Object.fromEntries(
    hooks.map(({ hookName, refusal }) => {
      /** @type {(hookInput: any, toolUseId: string | undefined, context: { signal: AbortSignal }) => Promise<unknown>} */
      const callback = (hookInput, _toolUseId, { signal }) =>
        ask({ type: 'hook_event', requestId: randomUUID(), hookName, hookInput }, signal, refusal)
      const failure = blockOnHookFailure && hookName === 'PreToolUse' ? { onFailure: 'block' } : {}
      return [hookName, [{ hooks: [callback], timeout: HOOK_TIMEOUT_S, ...failure }]]
    }),
  )
  if (guardRefusal === undefined) return registered
  /** @type {(hookInput: unknown, toolUseId: string | undefined, context: { signal: AbortSignal }) => Promise<unknown>} */
  const guard = (_hookInput, toolUseId, { signal }) =>
    ask({ type: 'guard', requestId: `guard ${toolUseId}` }, signal, guardRefusal)
  const failure = blockOnHookFailure ? { onFailure: 'block' } : {}
  const guarded = { hooks: [guard], timeout: HOOK_TIMEOUT_S, ...failure }
  return { ...registered, PreToolUse: [...(registered.PreToolUse ?? []), guarded] }
}

/**
 * @param {string} requestId
 * @param {Record<string, unknown>} output
 */
function decided(requestId, output) {
  const resolve = waiting.get(requestId)
  waiting.delete(requestId)
  if (resolve) return resolve(output)
  early.set(requestId, output)
  // The oldest decisions are dropped, because nothing requested them.
  const [oldest] = early.keys()
  if (early.size > MAX_EARLY && oldest !== undefined) early.delete(oldest)
}

/**
 * Waits for the main thread's answer. When nobody needs it any more the answer is no.
 * @param {WorkerResponse & { requestId: string }} request
 * @param {AbortSignal} signal
 * @param {Record<string, unknown>} refusal
 */
function ask(request, signal, refusal) {
  const { requestId } = request
  return new Promise(resolve => {
    const known = early.get(requestId)
    if (early.delete(requestId)) return resolve(known)
    const onAbort = () => {
      waiting.delete(requestId)
      post({ type: 'withdrawn', requestId })
      resolve(refusal)
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    waiting.set(requestId, output => {
      signal.removeEventListener('abort', onAbort)
      resolve(output)
    })
    post(request)
  })
}

/** @param {WorkerRequest & { type: 'control' }} request */
async function control({ id, method, argument }) {
  try {
    const value = await query[method](...(argument === undefined ? [] : [argument]))
    post({ type: 'control-result', id, value: JSON.parse(JSON.stringify(value ?? null)) })
  } catch (error) {
    post({ type: 'control-result', id, error: error instanceof Error ? error.message : String(error) })
  }
}

/** @param {WorkerResponse} response */
function post(response) {
  port?.postMessage(response)
}

function messageQueue() {
  /** @type {Record<string, unknown>[]} */
  const items = []
  let ended = false
  /** @type {(() => void) | undefined} */
  let wake
  return {
    /** @param {Record<string, unknown>} message */
    push(message) {
      items.push(message)
      wake?.()
    },
    end() {
      ended = true
      wake?.()
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        for (let next = items.shift(); next !== undefined; next = items.shift()) yield next
        if (ended) return
        await new Promise(resolve => {
          wake = () => resolve(undefined)
        })
      }
    },
  }
}
