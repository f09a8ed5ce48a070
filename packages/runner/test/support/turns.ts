import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { StatusEvent, StatusKind, UIEvent, UIEventType } from '@chirality/core'
import { expect } from 'vitest'
import { isEnclosing } from '../../src/process/system/run-group.ts'

type EventOf<T extends UIEventType> = Extract<UIEvent, { type: T }>

export async function collect<E>(events: AsyncIterable<E>): Promise<E[]> {
  const all: E[] = []
  for await (const event of events) all.push(event)
  return all
}

/** Collects, and calls `act` once, when the first event that fits is there. */
export async function collectAnd<E>(
  events: AsyncIterable<E>,
  fits: (event: E) => boolean,
  act: () => unknown,
): Promise<E[]> {
  const all: E[] = []
  let acted = false
  for await (const event of events) {
    all.push(event)
    if (acted || !fits(event)) continue
    acted = true
    await act()
  }
  expect(acted, 'the awaited event came').toBe(true)
  return all
}

export function ofType<T extends UIEventType>(events: UIEvent[], type: T): EventOf<T>[] {
  return events.filter((event): event is EventOf<T> => event.type === type)
}

export function statuses(events: UIEvent[], status: StatusKind): StatusEvent[] {
  return ofType(events, 'status').filter(event => event.status === status)
}

/** What every turn in a process of its own promises, however it went. */
export function expectOneEnd(events: UIEvent[]): { reason: string } {
  expect(events[0]?.type).toBe('turn:start')
  expect(events.at(-1)).toMatchObject({ type: 'process:exit', ...nothingLeft() })
  expect(events.at(-2)?.type).toBe('turn:end')
  const [end, ...others] = ofType(events, 'turn:end')
  expect(others).toEqual([])
  expect(ofType(events, 'process:exit')).toHaveLength(1)
  return { reason: end?.reason ?? '' }
}

/** What `process:exit` says of a run that left nothing: the number 0 only where the system lets us be sure of it. */
export function nothingLeft(): { leftRunning?: 0 } {
  return isEnclosing() ? { leftRunning: 0 } : {}
}

/** A test whose file never comes fails by its time limit. */
export async function fileAppears(file: string): Promise<void> {
  while (!existsSync(file)) await pause(POLL_MS)
}

const POLL_MS = 5
