import { join } from 'node:path'
import { CAGE_LEVELS, type PermissionMode } from '@chirality/core'
import { runCommand } from '@chirality/runner'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import { fleetError } from '../fleet-error.ts'
import type { WorkState } from '../rpc/protocol.ts'
import type { Craft } from './work-desk.ts'

/** One turn of a session that was moved here for it. */
const turnOrder = z.object({
  session: z.string(),
  /** The turn is the one that starts after this event. */
  fromSeq: z.number().int().min(0),
  message: z.string(),
  request: z.object({
    autoApproveTools: z.array(z.string()).optional(),
    unattended: z.boolean().optional(),
    permissionMode: z.string().optional(),
    cage: z.enum(CAGE_LEVELS).optional(),
    maxBudgetUsd: z.number().optional(),
    maxBudgetTokens: z.number().optional(),
    timeoutMs: z.number().positive().optional(),
  }),
  /** Commands to run in the new worktree before the agent. */
  setup: z.array(z.string()),
  setupMs: z.number().positive(),
})

export type TurnOrder = z.infer<typeof turnOrder>

/** Runs turns of agents as work of a fleet. A started turn is in the session's log, so none starts twice. */
export class SessionCraft implements Craft {
  readonly #host: SessionHost
  readonly #starting = new Map<string, { stop: AbortController; failed: unknown }>()

  /** Turns whose start was found in their log, so that a long log is searched once. Removed with the turn. */
  readonly #begun = new Set<string>()

  /** Worktrees of sessions that are here for a turn. A worktree left by a killed process stays. */
  readonly #worktrees = new Map<string, string>()

  constructor(host: SessionHost) {
    this.#host = host
  }

  async advance(input: unknown): Promise<WorkState> {
    const order = turnOrder.parse(input)
    const live = await this.#host.session(order.session)
    if (live.stored.worktree !== null) this.#worktrees.set(order.session, live.stored.worktree)
    if (this.#hasBegun(live, order)) {
      this.#starting.delete(order.session)
      return stateOf(live)
    }
    const starting = this.#starting.get(order.session)
    if (starting?.failed !== undefined) {
      this.#starting.delete(order.session)
      throw starting.failed
    }
    // The set-up takes long, so the caller is answered meanwhile.
    if (starting === undefined) this.#begin(live, order)
    return { state: 'working' }
  }

  async stop(input: unknown): Promise<WorkState> {
    const order = turnOrder.parse(input)
    const live = await this.#host.session(order.session)
    this.#starting.get(order.session)?.stop.abort()
    if (!this.#hasBegun(live, order))
      return { state: this.#starting.has(order.session) ? 'working' : 'ended' }
    live.interrupt()
    return stateOf(live)
  }

  async drop(input: unknown): Promise<void> {
    const order = turnOrder.parse(input)
    this.#starting.get(order.session)?.stop.abort()
    if ((await this.#host.store.get(order.session)) === undefined) return this.tidy(input)
    const live = await this.#host.session(order.session)
    if (live.status.phase !== 'idle') await live.kill()
  }

  /** Removes the worktree of a session that went back to its hub; everything but ignored files is there. */
  async tidy(input: unknown): Promise<void> {
    const { session, fromSeq } = turnOrder.parse(input)
    this.#begun.delete(turnOf(session, fromSeq))
    const worktree = this.#worktrees.get(session)
    this.#worktrees.delete(session)
    if (worktree === undefined || (await this.#host.store.get(session)) !== undefined) return
    if ((await this.#host.worktrees.find(worktree))?.state === 'ready')
      await this.#host.worktrees.remove(worktree)
  }

  #hasBegun({ log }: LiveSession, { session, fromSeq }: TurnOrder): boolean {
    const turn = turnOf(session, fromSeq)
    if (this.#begun.has(turn)) return true
    const after = log.readAfter(fromSeq, log.lastSeq, { maxBytes: MAX_READ })
    if (!after.some(({ event }) => event.type === 'turn:start')) return false
    this.#begun.add(turn)
    return true
  }

  #begin(live: LiveSession, order: TurnOrder): void {
    const stop = new AbortController()
    const state: { stop: AbortController; failed: unknown } = { stop, failed: undefined }
    this.#starting.set(order.session, state)
    void this.#setUp(live, order, stop.signal)
      .then(async () => {
        if (stop.signal.aborted) return void this.#starting.delete(order.session)
        const { permissionMode, ...request } = order.request
        const chosen = { ...request, permissionMode: permissionMode as PermissionMode | undefined }
        await live.start(order.message, given(chosen))
      })
      .catch(error => {
        if (stop.signal.aborted) this.#starting.delete(order.session)
        else state.failed = error
      })
  }

  async #setUp(live: LiveSession, { setup, setupMs }: TurnOrder, signal: AbortSignal): Promise<void> {
    const { worktree: id, projectRoot } = live.stored
    const worktree = id === null ? undefined : await this.#host.worktrees.get(id)
    const cwd = worktree === undefined ? projectRoot : join(worktree.folder, worktree.prefix)
    for (const command of setup) {
      const options = { cwd, marker: id ?? live.id, signal, timeoutMs: setupMs }
      const { exitCode, stopped, output } = await runCommand(command, options)
      if (signal.aborted) return
      if (exitCode === 0) continue
      const why = stopped ?? `exits with ${exitCode}`
      throw fleetError(
        'work-failed',
        `The set-up failed. \`${command}\` ${why}.\n${output.slice(-2_000)}`.trim(),
      )
    }
  }
}

function turnOf(session: string, fromSeq: number): string {
  return `${session} ${fromSeq}`
}

function stateOf({ status: { phase, pending } }: LiveSession): WorkState {
  if (phase === 'idle') return { state: 'ended' }
  const [request] = pending
  return { state: 'working', pending: request }
}

/** Drops keys whose value is undefined. */
function given<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}

const MAX_READ = 32 * 1024 * 1024
