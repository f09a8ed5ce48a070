import { setTimeout as sleep } from 'node:timers/promises'
import type { LoopState } from './loop-state.ts'

export const NO_TIME = 'The agent does not say when it is reset. Resume it later.'

export function noMoreWaits({ waits, settings }: LoopState): string {
  const isUsedUp = settings.wait_for_limits > 0
  const waiting = isUsedUp
    ? `It has waited ${waits}×, as often as it may`
    : 'With "wait_for_limits" it waits by itself'
  const handing = settings.hand_over === true ? '' : '; with "hand_over" other agents go on'
  return `Resume it then. ${waiting}${handing}.`
}

/** True if another task waits for the same limit already; parallel tasks wait for it once. */
export function isAwaited({ waitUntil }: LoopState, until: string): boolean {
  const awaited = waitUntil === undefined ? 0 : Date.parse(waitUntil)
  return awaited > Date.now() && Date.parse(until) - awaited < SAME_WINDOW_MS
}

/** Agents state the same reset with a difference of some seconds. */
const SAME_WINDOW_MS = 60_000

export async function waitUntil(until: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && Date.now() < Date.parse(until)) {
    const ms = Math.min(Date.parse(until) - Date.now(), 60_000)
    await sleep(Math.max(ms, 1), undefined, { signal }).catch(() => {})
  }
}
