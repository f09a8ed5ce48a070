import { findAllMarked, type MarkedProcess } from '../system/leftovers.ts'
import { listProcesses, type ProcessEntry, sendSignal } from '../system/process-table.ts'

/** The process that was spawned, and leads a group of its own. */
export interface Leader {
  readonly pid: number
  readonly marker: string
  /** When it started. On Linux it counts up: what is older cannot be its child, and its environment need not be read. */
  readonly startTime?: string
  /** From the moment it was reaped, its pid may name a stranger. */
  hasExited(): boolean
  /** Whether others were in its group when it ended. An empty group never fills again. */
  leftGroupBehind(): boolean
}

/** What the system says about its processes. Either may fail: no file descriptor left, or a `ps` that does not run. */
export interface ProcessLister {
  list(): Promise<ProcessEntry[]>
  findMarked(table: ProcessEntry[]): Promise<MarkedProcess[]>
}

export interface FamilyMembers {
  group: ProcessEntry[]
  strays: ProcessEntry[]
  /** There was no process table: the group may have members that nobody saw. */
  isBlind: boolean
}

/** Finds everything a leader started: its group, what carries its marker, and what descends from any of those. */
export class ProcessFamily {
  readonly #leader: Leader
  readonly #lister: ProcessLister
  readonly #known = new Map<string, ProcessEntry>()

  constructor(leader: Leader, lister: ProcessLister = SYSTEM) {
    this.#leader = leader
    this.#lister = lister
  }

  /** The living members. Who was seen once stays a member, even when it leaves the group or loses its parent. */
  async look(): Promise<FamilyMembers> {
    const listed = await this.#lister.list().catch(() => null)
    const table = listed ?? this.#fallbackTable()
    // Who cannot be asked for its marker may still be found by its group or its parents; a stop must not fail for it.
    const marked = await this.#lister.findMarked(this.#notOlder(table)).catch(() => [])
    const ours = new Set(marked.filter(entry => entry.markers.includes(this.#leader.marker)).map(keyOf))
    const groupIsOurs = this.#groupIsOurs(table)
    const inGroup = (entry: ProcessEntry) => groupIsOurs && entry.groupId === this.#leader.pid
    const isMember = (entry: ProcessEntry) =>
      inGroup(entry) || ours.has(keyOf(entry)) || this.#known.has(keyOf(entry))
    const living = table.filter(entry => !entry.zombie && entry.pid !== process.pid)
    const members = withDescendants(living.filter(isMember), living)
    for (const entry of members) this.#known.set(keyOf(entry), entry)
    const strays = members.filter(entry => !inGroup(entry))
    return { group: members.filter(inGroup), strays, isBlind: listed === null }
  }

  /** Signals the whole group at once, so that a fork cannot slip through. False when there is no such group. */
  async signalGroup(signal: NodeJS.Signals): Promise<boolean> {
    const table = this.#leader.hasExited() ? await this.#lister.list().catch(() => []) : []
    return this.#groupIsOurs(table) && sendSignal(-this.#leader.pid, signal)
  }

  #notOlder(table: ProcessEntry[]): ProcessEntry[] {
    const since = Number(this.#leader.startTime)
    return Number.isNaN(since) ? table : table.filter(entry => Number(entry.startedAt) >= since)
  }

  /** Without a process table there is still what we know. */
  #fallbackTable(): ProcessEntry[] {
    const { pid } = this.#leader
    const known = [...this.#known.values()].filter(entry => sendSignal(entry.pid, 0))
    if (this.#leader.hasExited() || known.some(entry => entry.pid === pid)) return known
    return [...known, { pid, parentPid: process.pid, groupId: pid, startedAt: '', zombie: false }]
  }

  /** The kernel keeps a group's number reserved while the group has members, so a process with it is a stranger. */
  #groupIsOurs(table: ProcessEntry[]): boolean {
    if (!this.#leader.hasExited()) return true
    const { pid, startTime } = this.#leader
    return this.#leader.leftGroupBehind() && !table.some(e => e.pid === pid && e.startedAt !== startTime)
  }
}

const SYSTEM: ProcessLister = { list: listProcesses, findMarked: findAllMarked }

function withDescendants(roots: ProcessEntry[], table: ProcessEntry[]): ProcessEntry[] {
  const members = new Map(roots.map(entry => [entry.pid, entry]))
  let before: number
  do {
    before = members.size
    for (const entry of table) if (members.has(entry.parentPid)) members.set(entry.pid, entry)
  } while (members.size > before)
  return [...members.values()]
}

function keyOf(entry: ProcessEntry): string {
  return `${entry.pid}@${entry.startedAt}`
}
