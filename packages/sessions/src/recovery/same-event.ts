import { isDeepStrictEqual } from 'node:util'
import type { UIEvent } from '@chirality/core'

/**
 * Whether an event of the log is this one. What a harness says of itself can come out a little different when it reads a
 * turn again: how long it took, how a process that is gone ended.
 */
export function isSameEvent(logged: UIEvent, event: UIEvent): boolean {
  if (logged.type !== event.type) return false
  switch (event.type) {
    case 'turn:start':
    case 'turn:end':
    case 'process:exit':
      return true
    case 'status':
      return logged.type === 'status' && logged.status === event.status && logged.message === event.message
    case 'session:error':
      return logged.type === 'session:error' && logged.code === event.code
    case 'permission:request':
    case 'permission:resolved':
      return 'requestId' in logged && logged.requestId === event.requestId
    case 'usage':
    case 'session:complete':
      return isDeepStrictEqual(asStored(unpriced(logged)), asStored(unpriced(event)))
    default:
      return isDeepStrictEqual(logged, asStored(event))
  }
}

/** The host wrote the list price when it recorded the event. */
function unpriced(event: UIEvent): UIEvent {
  return { ...event, estimateUsd: undefined } as UIEvent
}

/** What may stand in a log between two events of an agent, said by the host or the log, or by nobody a second time. */
export function isAside({ type }: UIEvent): boolean {
  return type === 'status' || type === 'budget' || type === 'permission:resolved' || type === 'log:gap'
}

/** The log keeps JSON, which knows no `undefined`. */
function asStored(event: UIEvent): unknown {
  return JSON.parse(JSON.stringify(event))
}
