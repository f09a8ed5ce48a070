import { availableParallelism, loadavg } from 'node:os'
import type { FleetLocal } from '@chirality/centre'
import type { SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import { type MachineState, stateOf } from './claim/presence.ts'
import { keyFingerprint } from './engine/certificate.ts'
import type { Link } from './engine/link.ts'
import { lenientList } from './lenient-list.ts'
import { PlacedSessions } from './placement/placed-sessions.ts'
import { MAX_PROJECTS, spentList } from './spent-list.ts'
import { isMachineName } from './subjects.ts'

/** The beat with which a machine describes itself. */
const beat = z.object({
  role: z.enum(['worker', 'hub']),
  version: z.string().max(100),
  labels: z.array(z.string().max(100)).max(100),
  slots: z.number().int().min(0).max(10_000),
  busy: z.number().int().min(0),
  load: z.number().min(0),
  agents: lenientList(
    z.object({
      id: z.string().max(100),
      name: z.string().max(200),
      installed: z.boolean(),
      loggedIn: z.boolean(),
      // The output of a program's `--version` can be of any length.
      version: z.string().max(100).nullable().catch(null),
    }),
    100,
  ),
  projects: z.array(z.string().max(4096)).max(MAX_PROJECTS),
  /** True if the machine sends copies of its sessions to the hubs. */
  copies: z.boolean().default(true),
  /** Its projects with their common name: the git remote, else the name of the folder. */
  repositories: lenientList(
    z.object({ root: z.string().max(4096), key: z.string().max(1000) }),
    MAX_PROJECTS,
  ).default([]),
  /** Spending of the machine on each project. */
  spent: spentList.default([]),
})

export type Beat = z.infer<typeof beat>

export interface Machine extends Omit<Beat, 'spent'> {
  machine: string
  state: MachineState
  /** True for the machine that answers. */
  isThis: boolean
  /** Seconds since the last beat. Null if none came since this machine listens. */
  heardSecondsAgo: number | null
  /** False after its rights were revoked. Null: only the machine with the broker knows. */
  hasKey: boolean | null
  /**
   * Fingerprint of its key, which `fleet join` printed there. Null if it has none, or only the broker's machine knows.
   */
  key: string | null
}

/** The machines that have a key for the broker of this machine. */
export type MachineKeys = readonly { machine: string; role: Beat['role']; key: string }[]

/** Builds the beat of this machine. */
export function beatOf(
  { host, version }: Pick<FleetLocal, 'host' | 'version'>,
  {
    role,
    labels,
    slots,
    agents,
    repositories,
    copies,
    spent,
  }: Pick<Beat, 'role' | 'agents' | 'repositories' | 'copies' | 'spent'> & {
    labels: readonly string[] | undefined
    slots: number | undefined
  },
): Beat {
  const busy = busyIn(host)
  const load = (loadavg()[0] ?? 0) / availableParallelism()
  return {
    role,
    version,
    labels: [...(labels ?? [])],
    slots: slots ?? availableParallelism(),
    busy,
    load,
    agents,
    projects: host.projects(),
    repositories,
    copies,
    spent,
  }
}

/** Number of turns that run. */
export function busyIn(host: SessionHost): number {
  return host.statuses().filter(({ phase }) => phase !== 'idle').length
}

interface Known {
  beat: Beat
  heardAt: number | undefined
  /** Stream position of the beat. */
  seq?: number
}

/** The machines of a fleet as one of them sees them. */
export class Machines {
  readonly #known = new Map<string, Known>()
  readonly #own: string
  readonly #states = new Map<string, MachineState>()
  readonly #placed = new PlacedSessions()
  #connectedSince: number | undefined
  /** Why nothing can be stored. */
  #fault: string | undefined
  #problem: string | undefined

  constructor(own: string) {
    this.#own = own
  }

  /** Takes in a beat. `isLive` is false for one that was stored before this machine listened: it may be old. */
  heard(machine: string, body: Uint8Array, isLive: boolean, seq = 0): Beat | undefined {
    const parsed = parseBeat(body)
    if (parsed === undefined || !isMachineName(machine)) return undefined
    const heardAt = isLive ? performance.now() : this.#known.get(machine)?.heardAt
    this.#known.set(machine, { beat: parsed, heardAt, seq })
    if (isLive) this.#placed.beat(machine)
    return parsed
  }

  /** Forgets a machine, unless its beat came after message `upTo`: then it joined again. */
  forget(machine: string, upTo: number): void {
    if ((this.#known.get(machine)?.seq ?? 0) > upTo) return
    this.#known.delete(machine)
    this.#states.delete(machine)
  }

  /** Records the beat of this machine, which a worker never hears. */
  said(own: Beat): Beat {
    this.#known.set(this.#own, { beat: own, heardAt: this.#known.get(this.#own)?.heardAt })
    return own
  }

  /** Counts a session that was just placed there. The next beat may not include it, because its turn starts later. */
  placed(machine: string): void {
    this.#placed.add(machine, this.#known.get(machine)?.beat.busy ?? 0)
  }

  /**
   * The machines with the load that new work has to expect: each with the sessions placed there since its last beats.
   * `busy` is the current number of turns here.
   */
  forWork(machines: readonly Machine[], busy = 0): Machine[] {
    return machines.map(one => {
      const said = one.isThis ? Math.max(one.busy, busy) : one.busy
      return { ...one, busy: this.#placed.busy(one.machine, said) }
    })
  }

  /** Called when the machine answered a request. */
  answered(machine: string): void {
    const known = this.#known.get(machine)
    if (known !== undefined) known.heardAt = performance.now()
  }

  connected(isConnected: boolean): void {
    this.#connectedSince = isConnected ? performance.now() : undefined
  }

  /**
   * Follows the fault of the link. While nothing is stored no beat arrives, which says nothing about the others.
   * Reports each change once.
   */
  stored(
    { connected, fault }: Pick<Link, 'connected' | 'fault'>,
    say: (text: string) => void = () => {},
  ): void {
    if (!connected || fault === this.#fault) return
    const wasStoring = this.#fault === undefined
    this.#fault = fault
    if (fault !== undefined && !wasStoring) return
    this.connected(fault === undefined)
    say(
      fault === undefined
        ? 'The fleet stores again. Everything it missed is shipped now.'
        : `The fleet is read-only: ${fault}. Agents work on, and everything is shipped later.`,
    )
  }

  /** Records why this machine is not connected, if known. Reports each reason once. */
  refused(problem: string | undefined, say: (text: string) => void = () => {}): void {
    if (problem !== undefined && problem !== this.#problem) say(`${problem} It is tried again.`)
    this.#problem = problem
  }

  get problem(): string | null {
    return this.#problem ?? null
  }

  /** Machines whose state changed since the last call. */
  changed(): Set<string> {
    const changed = new Set<string>()
    for (const { machine, state } of this.list()) {
      if (this.#states.get(machine) !== state) changed.add(machine)
      this.#states.set(machine, state)
    }
    return changed
  }

  /** The state of one machine, equal to that in `list`, without building the list. */
  state(machine: string): MachineState {
    const { heardAt } = this.#known.get(machine) ?? {}
    return this.#stateOf(machine, heardAt, performance.now())
  }

  #stateOf(machine: string, heardAt: number | undefined, now: number): MachineState {
    return machine === this.#own ? 'here' : stateOf({ heardAt, connectedSince: this.#connectedSince, now })
  }

  /**
   * Lists all known machines, including those that have a key and were never heard, and those known only by their
   * sessions.
   */
  list({ keys, named = [] }: { keys?: MachineKeys; named?: Iterable<string> } = {}): Machine[] {
    const now = performance.now()
    const keyOf = new Map(keys?.map(({ machine, key }) => [machine, key]))
    const silent = [...(keys ?? []), ...[...named].map(machine => ({ machine, role: 'worker' as const }))]
    const all = new Map<string, Known>(
      silent.map(({ machine, role }) => [machine, { beat: { ...UNHEARD, role }, heardAt: undefined }]),
    )
    for (const [machine, known] of this.#known) all.set(machine, known)
    const machines = [...all].map(([machine, { beat: whole, heardAt }]): Machine => {
      const { spent: _, ...said } = whole
      const key = keyOf.get(machine)
      return {
        machine,
        ...said,
        isThis: machine === this.#own,
        state: this.#stateOf(machine, heardAt, now),
        heardSecondsAgo: heardAt === undefined ? null : Math.round((now - heardAt) / 1000),
        hasKey: keys === undefined ? null : key !== undefined,
        key: key === undefined ? null : keyFingerprint(key),
      }
    })
    return machines.sort((a, b) => (a.machine < b.machine ? -1 : 1))
  }
}

const UNHEARD: Omit<Beat, 'role'> = {
  version: '',
  labels: [],
  slots: 0,
  busy: 0,
  load: 0,
  agents: [],
  projects: [],
  repositories: [],
  copies: true,
  spent: [],
}

function parseBeat(body: Uint8Array): Beat | undefined {
  try {
    return beat.parse(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return undefined
  }
}
