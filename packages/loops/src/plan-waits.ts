import { setTimeout as sleep } from 'node:timers/promises'
import type { LoopContext } from './loop-context.ts'
import type { LoopState } from './loop-state.ts'

/** The waits of a loop for resets of plans' limits. */
export class PlanWaits {
  readonly #loop: Pick<LoopContext, 'state' | 'signal' | 'record'>
  #waiting = 0

  constructor(loop: Pick<LoopContext, 'state' | 'signal' | 'record'>) {
    this.#loop = loop
  }

  /** True while a task waits. No other task starts then, because it would meet the same limit. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /** Waits for the reset of a limit. Returns the reason if the loop has to end instead. */
  async wait(until: string | undefined): Promise<string | undefined> {
    const { state, signal, record } = this.#loop
    const why = `The limit of the plan is reached${until === undefined ? '' : `, until ${until}`}.`
    if (until === undefined) return `${why} The agent does not say when it is reset. Resume it later.`
    const isNew = !isAwaited(state, until)
    if (isNew && state.waits >= state.settings.wait_for_limits) return `${why} ${noMoreWaits(state)}`
    if (isNew) record({ type: 'loop:wait', until, why })
    this.#waiting += 1
    await waitUntil(until, signal)
    this.#waiting -= 1
    return undefined
  }
}

export async function waitUntil(until: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && Date.now() < Date.parse(until)) {
    const ms = Math.min(Date.parse(until) - Date.now(), 60_000)
    await sleep(Math.max(ms, 1), undefined, { signal }).catch(() => {})
  }
}

/** True if another task waits for the same limit already; parallel tasks wait for it once. */
function isAwaited({ waitUntil }: LoopState, until: string): boolean {
  const awaited = waitUntil === undefined ? 0 : Date.parse(waitUntil)
  return awaited > Date.now() && Date.parse(until) - awaited < SAME_WINDOW_MS
}

/** Agents state the same reset with a difference of some seconds. */
const SAME_WINDOW_MS = 60_000

function noMoreWaits({ waits, settings }: LoopState): string {
  const isUsedUp = settings.wait_for_limits > 0
  const waiting = isUsedUp
    ? `It has waited ${waits}×, as often as it may`
    : 'With "wait_for_limits" it waits by itself'
  const handing = settings.hand_over === true ? '' : '; with "hand_over" other agents go on'
  return `Resume it then. ${waiting}${handing}.`
}
