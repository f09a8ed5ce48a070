import type { Envelope } from '@chirality/core'
import type { SessionStatus } from '@chirality/sessions'
import { tracked } from '@trpc/server'
import type { z } from 'zod'
import { CALLS } from '../contract/calls.ts'
import { callError } from '../errors/call-error.ts'
import { type FleetService, remoteSession, remoteSessions, remoteStatus } from '../fleet/fleet-service.ts'
import type { AppServices } from './context.ts'
import { JsonEvents } from './encoder.ts'
import { EventTexts, eventBatches } from './event-batches.ts'
import { openLog } from './live-session.ts'
import { ask, call, procedure, router, toTrpcError } from './trpc.ts'

export const sessionRouter = router({
  /**
   * All events of a session after `lastEventId`, first from the log and then live. With `textOnce` a whole text that
   * came in pieces is sent without its content (`textOf`): the client restores it with `TextsOnce`.
   */
  events: procedure.input(CALLS.session.events.input).subscription(async function* ({ ctx, input, signal }) {
    let texts: EventTexts | undefined
    let close: (() => Promise<void>) | undefined
    try {
      const opened = await openLog(ctx, input.sessionId)
      const { log } = opened
      close = opened.close
      const after = Number(input.lastEventId ?? 0)
      const reading = { pace: ctx.pace, signal, textOnce: input.textOnce }
      if (ctx.takesJson) {
        texts = new EventTexts(log, after, reading)
        for (let next = await texts.next(); next !== undefined; next = await texts.next())
          yield tracked(String(next.to), asEnvelopes(new JsonEvents(next.text)))
      } else
        for await (const envelopes of eventBatches(log, after, reading)) {
          yield tracked(String(envelopes.at(-1)?.seq), envelopes)
        }
    } catch (error) {
      throw toTrpcError(error)
    } finally {
      texts?.close()
      await close?.()
    }
  }),
})

/** The type as a client receives it. */
function asEnvelopes(events: JsonEvents): Envelope[] {
  return events as unknown as Envelope[]
}

/** First all open sessions of registered projects; then the changed and the deleted ones. */
export type FleetEvent = z.infer<typeof CALLS.fleet.events.yields>

export const fleetRouter = router({
  /** The status of every session: all once, then the changes. */
  events: procedure.subscription(async function* ({ ctx, signal }): AsyncGenerator<FleetEvent> {
    const changes = new StatusChanges(ctx)
    const end = () => changes.close()
    signal?.addEventListener('abort', end)
    try {
      const own = (await changes.registered(ctx.host.statuses())).shown
      yield { type: 'snapshot', sessions: [...own, ...remoteStatuses(ctx.fleet)] }
      const loops = await ctx.loops.list()
      // Also without any: the page cannot tell no loops from loops that are not known yet.
      yield { type: 'loops', loops }
      while (await changes.some()) {
        if (!(await ctx.pace.turn())) return
        const { sessions, removed, loops: changed, schedules } = changes.take()
        if (sessions.length > 0 || removed.length > 0) {
          const { shown, hidden } = await changes.registered(sessions)
          const gone = changes.untold([...removed, ...hidden])
          if (shown.length + gone.length > 0) yield { type: 'changes', sessions: shown, removed: gone }
        }
        if (changed.length > 0) {
          // A project that was removed in the meantime has none.
          const summaries = await Promise.all(changed.map(id => ctx.loops.summary(id).catch(() => undefined)))
          yield { type: 'loops', loops: summaries.flatMap(summary => summary ?? []) }
        }
        if (schedules) yield { type: 'schedules' }
      }
    } finally {
      signal?.removeEventListener('abort', end)
      end()
    }
  }),

  /** The machines of the fleet, this one included. None without a fleet. */
  machines: ask(CALLS.fleet.machines).query(({ ctx }) => ctx.fleet?.machines() ?? []),

  /** Moves a session to a machine that has a clone of its repository. Only a hub can. */
  move: call(CALLS.fleet.move).mutation(({ ctx, input }) =>
    requireFleet(ctx).move(input.sessionId, input.to),
  ),

  /** Lets another machine go on with a session whose machine is gone. Only a hub can. */
  takeover: call(CALLS.fleet.takeover).mutation(({ ctx, input: { sessionId, to, goOn } }) =>
    requireFleet(ctx).takeover(sessionId, to, goOn),
  ),

  /** Gives up a move whose target does not come back. Only a hub can. */
  keep: call(CALLS.fleet.keep).mutation(({ ctx, input }) => requireFleet(ctx).keep(input.sessionId)),

  /** This machine in its fleet. Null without one. */
  info: ask(CALLS.fleet.info).query(({ ctx }) => ctx.fleet?.info() ?? null),

  /** A code with which one machine can join, once, within a day. */
  invite: call(CALLS.fleet.invite).mutation(({ ctx, input }) => requireFleet(ctx).invite(input.role)),

  /** Takes the rights of a machine away. */
  revoke: call(CALLS.fleet.revoke).mutation(({ ctx, input }) => requireFleet(ctx).revoke(input.machine)),

  /** Removes a machine that does not come back, with its sessions, logs and copies, from the brokers and all hubs. */
  forget: call(CALLS.fleet.forget).mutation(({ ctx, input }) => requireFleet(ctx).forget(input.machine)),

  /** Whether hubs get copies of the sessions of this machine after each turn. */
  sendCopies: call(CALLS.fleet.sendCopies).mutation(({ ctx, input }) =>
    requireFleet(ctx).sendCopies(input.send),
  ),

  /** Where a new session of a project would run, and why. Null without a fleet. */
  place: call(CALLS.fleet.place).query(({ ctx, input: { harness, project, labels = [], machine } }) => {
    return ctx.fleet?.choose({ agent: harness, project, labels, machine }) ?? null
  }),
})

function requireFleet({ fleet }: AppServices): FleetService {
  if (fleet !== undefined) return fleet
  throw callError('unsupported', 'This server is in no fleet. Start it with --fleet: docs/fleet.md.')
}

function remoteStatuses(fleet: FleetService | undefined): SessionStatus[] {
  if (fleet === undefined) return []
  return remoteSessions(fleet).flatMap(one => (one.status ? [remoteStatus(fleet, one)] : []))
}

/** The latest status of each session that changed since the last call, and the deleted ones. */
class StatusChanges {
  readonly #projects: AppServices['projects']
  readonly #discarded: AppServices['discarded']
  readonly #fleet: FleetService | undefined
  /** Whether a project is registered, and when that was looked up: statuses change far more often than the list. */
  readonly #lookups = new Map<string, { at: number; registered: boolean }>()
  readonly #shown = new Set<string>()
  /** Told as removed, and not shown since. */
  readonly #gone = new Set<string>()
  readonly #changed = new Map<string, SessionStatus>()
  readonly #removed = new Set<string>()
  readonly #loops = new Set<string>()
  #schedules = false
  readonly #unsubscribe: (() => void)[]
  #wake: () => void = () => {}
  #closed = false

  constructor({ host, removed, loops, schedules, projects, discarded, fleet }: AppServices) {
    this.#projects = projects
    this.#discarded = discarded
    this.#fleet = fleet
    this.#unsubscribe = [
      host.onStatus(status => {
        this.#changed.set(status.sessionId, status)
        this.#wake()
      }),
      removed.onRemoved(sessionId => {
        // A pending status of the session is sent before its deletion.
        this.#changed.delete(sessionId)
        this.#removed.add(sessionId)
        this.#wake()
      }),
      loops.onChange(({ loopId }) => {
        this.#loops.add(loopId)
        this.#wake()
      }),
      schedules.onListChange(() => {
        this.#schedules = true
        this.#wake()
      }),
      fleet?.onChange(sessionId => {
        const remote = remoteSession(fleet, sessionId)
        const own = remote === undefined ? host.openSession(sessionId) : undefined
        // It came to this machine.
        if (own !== undefined) this.#changed.set(sessionId, own.status)
        else if (remote === undefined) {
          this.#changed.delete(sessionId)
          this.#removed.add(sessionId)
        } else {
          this.#removed.delete(sessionId)
          this.#changed.set(sessionId, remoteStatus(fleet, remote))
        }
        this.#wake()
      }) ?? (() => {}),
    ]
  }

  /** Resolves when there are changes; false when the subscription is over. */
  async some(): Promise<boolean> {
    const isQuiet = () => !this.#schedules && this.#changed.size + this.#removed.size + this.#loops.size === 0
    while (!this.#closed && isQuiet()) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return !this.#closed
  }

  /** Sessions of registered projects, and the ids of those that were shown and no longer belong to one. */
  async registered(statuses: SessionStatus[]): Promise<{ shown: SessionStatus[]; hidden: string[] }> {
    const isRemote = ({ sessionId }: SessionStatus) => remoteSession(this.#fleet, sessionId) !== undefined
    const roots = new Set(statuses.flatMap(status => (isRemote(status) ? [] : [status.projectRoot])))
    await Promise.all([...roots].map(root => this.#lookUp(root)))
    const isShown = (status: SessionStatus) =>
      isRemote(status) ||
      (this.#lookups.get(status.projectRoot)?.registered === true && !this.#discarded.has(status.sessionId))
    const shown = statuses.filter(isShown)
    for (const { sessionId } of shown) {
      this.#shown.add(sessionId)
      this.#gone.delete(sessionId)
    }
    const hidden = statuses.filter(status => !isShown(status) && this.#shown.delete(status.sessionId))
    return { shown, hidden: hidden.map(({ sessionId }) => sessionId) }
  }

  /** A session that was discarded and whose last status comes after it is removed once. */
  untold(removed: string[]): string[] {
    const untold = [...new Set(removed)].filter(sessionId => !this.#gone.has(sessionId))
    for (const sessionId of untold) this.#gone.add(sessionId)
    return untold
  }

  async #lookUp(root: string): Promise<void> {
    const now = Date.now()
    if (now - (this.#lookups.get(root)?.at ?? 0) < LOOKUP_MS) return
    const registered = await this.#projects.isRegistered(root)
    this.#lookups.set(root, { at: now, registered })
  }

  take(): { sessions: SessionStatus[]; removed: string[]; loops: string[]; schedules: boolean } {
    const taken = {
      ...{ sessions: [...this.#changed.values()], removed: [...this.#removed] },
      ...{ loops: [...this.#loops], schedules: this.#schedules },
    }
    this.#schedules = false
    this.#loops.clear()
    this.#changed.clear()
    this.#removed.clear()
    return taken
  }

  close(): void {
    this.#closed = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#wake()
  }
}

/** How long a change of the project list by another process may go unnoticed. */
const LOOKUP_MS = 1000
