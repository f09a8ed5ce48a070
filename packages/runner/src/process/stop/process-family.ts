import { findAllMarked, type MarkedProcess } from '../system/leftovers.ts'
import { listProcesses, type ProcessEntry, sendSignal } from '../system/process-table.ts'

/** The spawned process, which leads a process group of its own. */
export interface Leader {
  readonly pid: number
  readonly marker: string
  /**
   * Its start time. On Linux it is a counter: an older process cannot be a child, and its environment need not be read.
   */
  readonly startTime?: string
  /** Once it was reaped, its pid may be reused by another process. */
  hasExited(): boolean
  /** Whether its group had other members when it exited. An empty group never gets members again. */
  leftGroupBehind(): boolean
}

/** Lists the system's processes. Either call may fail: no file descriptor is left, or `ps` does not run. */
export interface ProcessLister {
  list(): Promise<ProcessEntry[]>
  findMarked(table: ProcessEntry[]): Promise<MarkedProcess[]>
}

export interface FamilyMembers {
  group: ProcessEntry[]
  strays: ProcessEntry[]
  /** There was no process table: the group may have members that were not seen. */
  isBlind: boolean
}

/** Finds everything a leader started: its group, the processes with its marker, and the descendants of both. */
export class ProcessFamily {
  readonly #leader: Leader
  readonly #lister: ProcessLister
  readonly #known = new Map<string, ProcessEntry>()

  constructor(leader: Leader, lister: ProcessLister = SYSTEM) {
    this.#leader = leader
    this.#lister = lister
  }

  /**
   * The living members. A process that was seen once stays a member, even if it leaves the group or loses its parent.
   */
  async look(): Promise<FamilyMembers> {
    const listed = await this.#lister.list().catch(() => null)
    const table = listed ?? this.#fallbackTable()
    // If markers cannot be read, members are still found by group and parent; a stop must not fail for that.
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

  /** Signals the whole group at once, so that a fork cannot escape. False if the group does not exist. */
  async signalGroup(signal: NodeJS.Signals): Promise<boolean> {
    const table = this.#leader.hasExited() ? await this.#lister.list().catch(() => []) : []
    return this.#groupIsOurs(table) && sendSignal(-this.#leader.pid, signal)
  }

  #notOlder(table: ProcessEntry[]): ProcessEntry[] {
    const since = Number(this.#leader.startTime)
    return Number.isNaN(since) ? table : table.filter(entry => Number(entry.startedAt) >= since)
  }

  /** Without a process table, the members that were seen before are used. */
  #fallbackTable(): ProcessEntry[] {
    const { pid } = this.#leader
    const known = [...this.#known.values()].filter(entry => sendSignal(entry.pid, 0))
    if (this.#leader.hasExited() || known.some(entry => entry.pid === pid)) return known
    return [...known, { pid, parentPid: process.pid, groupId: pid, startedAt: '', zombie: false }]
  }

  /**
   * The kernel does not reuse a group's number as a pid while the group has members, so a new process with this pid
   * means that the group is gone.
   */
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
