import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Failure, Reply } from './answer.ts'
import type { Frame, ReplyContext, WireFormat } from './wire-format.ts'

export interface Delivery {
  response: ServerResponse
  wire: WireFormat
  context: ReplyContext
  stream: boolean
  /** Aborts when the client leaves or the server closes; every wait obeys it. */
  signal: AbortSignal
  /** Resolves when a stalled answer may go on. */
  stall(): Promise<void>
}

/** Sends one answer as the script describes it. Resolves to how it ended. */
export async function deliver(answer: Answer, delivery: Delivery): Promise<'done' | 'cut'> {
  await pause(answer.delayMs, delivery.signal)
  if (answer.kind === 'failure') return sendFailure(answer, delivery)
  if (answer.cutAfter === 'nothing') return cut(delivery)
  if (answer.stallAfter === 'nothing') await delivery.stall()
  return delivery.stream ? sendStream(answer, delivery) : sendBody(answer, delivery)
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const json = Buffer.from(JSON.stringify(body))
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': json.length })
  response.end(json)
}

function sendFailure(failure: Failure, delivery: Delivery): Promise<'done'> {
  const { response, wire, context } = delivery
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  sendJson(response, failure.status, failure.body ?? wire.errorBody(failure, context.requestId))
  return flushed(delivery)
}

async function sendStream(reply: Reply, delivery: Delivery): Promise<'done' | 'cut'> {
  const { response, wire, context, signal } = delivery
  setHeaders(reply, response)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  let deltas = 0
  let stalled = reply.stallAfter === 'nothing'
  for (const { kind, sse } of wire.frames(reply, context)) {
    const reached = (after: number | string | undefined) => isReached(after, kind, deltas)
    if (!stalled && reached(reply.stallAfter)) {
      stalled = true
      await delivery.stall()
    }
    if (reached(reply.cutAfter)) return cut(delivery)
    if (reply.streamError && reached(reply.streamError.after)) {
      response.end(wire.errorFrame(reply.streamError, context))
      return flushed(delivery)
    }
    if (kind === 'delta') {
      deltas += 1
      await pause(reply.chunkDelayMs, signal)
    }
    if (!response.write(sse)) await once(response, 'drain', { signal })
  }
  response.end()
  return flushed(delivery)
}

/** With no delta asked for, the opening frames still go out; with more than there are, the closing frames do not. */
function isReached(after: number | string | undefined, kind: Frame['kind'], deltas: number): boolean {
  if (typeof after !== 'number') return false
  return kind === 'close' || (deltas >= after && (after > 0 || kind === 'delta'))
}

/** Without a stream there is nothing between start and end, so a stall or cut anywhere comes before the body. */
async function sendBody(reply: Reply, delivery: Delivery): Promise<'done' | 'cut'> {
  const { response, wire, context } = delivery
  if (typeof reply.stallAfter === 'number') await delivery.stall()
  if (reply.cutAfter !== undefined) return cut(delivery)
  if (reply.streamError) {
    return sendFailure(
      { kind: 'failure', status: 529, headers: {}, delayMs: 0, ...reply.streamError },
      delivery,
    )
  }
  setHeaders(reply, response)
  sendJson(response, 200, wire.body(reply, context))
  return flushed(delivery)
}

/** Done means that the last byte has left, not only that it was written. */
async function flushed({ response, signal }: Delivery): Promise<'done'> {
  await once(response, 'finish', { signal })
  return 'done'
}

function setHeaders(reply: Reply, response: ServerResponse): void {
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value)
}

/** A reset would throw away what the client has not read yet, so the cut would come earlier than the script says. */
function cut({ response }: Delivery): 'cut' {
  response.socket?.destroySoon()
  return 'cut'
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds > 0) await sleep(milliseconds, undefined, { signal })
}
