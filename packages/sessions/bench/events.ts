import type { ChatDeltaEvent, UIEvent } from '@chirality/core'

export const BENCH_SESSION = '3c0f2f1a-6a0e-4a4e-9a51-6d7f6f6c2b11'

/** About 265 bytes as a line of a log: what a piece of streamed text comes to. */
export function benchEvent(n: number): ChatDeltaEvent {
  return {
    type: 'chat:delta',
    sessionId: BENCH_SESSION,
    messageId: `msg_${n % 1000}#0`,
    text: 'a few words of streamed text that came with one event ',
  }
}

/** What an agent prints: pieces of text, one after another, then the whole message, and the output of a tool. */
export function streamedEvent(n: number): UIEvent {
  const messageId = `msg_${Math.floor(n / 40)}#0`
  if (n % 40 === 39) return largeEvent(n)
  if (n % 40 < 38) return { ...benchEvent(n), messageId }
  return { type: 'chat:message', sessionId: BENCH_SESSION, messageId, text: benchEvent(n).text.repeat(38) }
}

/** About a kilobyte: a tool's output. */
export function largeEvent(n: number): UIEvent {
  return {
    type: 'tool:result',
    sessionId: BENCH_SESSION,
    toolUseId: `toolu_${n}`,
    content: 'line of output '.repeat(54),
    isError: false,
  }
}
