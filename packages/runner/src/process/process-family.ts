import { findAllMarked } from './leftovers.ts'
import { isSameProcessAlive, listProcesses, type ProcessEntry } from './process-table.ts'

/** The process that was spawned, and leads a group of its own. */
export interface Leader {
  readonly pid: number
  readonly marker: string
  /** From the moment Node has reaped it, its pid may name a stranger. */
  hasExited(): boolean
  /** Whether others were in its group when it ended. An empty group never fills again. */
  leftGroupBehind(): boolean
}

/** Finds everything a leader started: its group, what carries its marker, and what descends from any of those. */
export class ProcessFamily {
  readonly #leader: Leader
  readonly #known = new Map<string, ProcessEntry>()

  constructor(leader: Leader) {
    this.#leader = leader
  }

  /** The living members. Who was seen once stays a member, even when it leaves the group or loses its parent. */
  async look(): Promise<{ group: ProcessEntry[]; strays: ProcessEntry[] }> {
    const marked = new Set((await findAllMarked()).filter(this.#carriesMarker).map(keyOf))
    const table = (await listProcesses()).filter(entry => !entry.zombie && entry.pid !== process.pid)
    const groupIsOurs = this.#groupIsOurs(table)
    const inGroup = (entry: ProcessEntry) => groupIsOurs && entry.groupId === this.#leader.pid
    const members = new Map<number, ProcessEntry>()
    for (const entry of table) {
      if (inGroup(entry) || marked.has(keyOf(entry)) || this.#known.has(keyOf(entry)))
        members.set(entry.pid, entry)
    }
    addDescendants(members, table)
    for (const entry of members.values()) this.#known.set(keyOf(entry), entry)
    const living = [...members.values()]
    return { group: living.filter(inGroup), strays: living.filter(entry => !inGroup(entry)) }
  }

  /** Signals the whole group at once, so that a fork cannot slip through. False when there is no such group. */
  async signalGroup(signal: NodeJS.Signals): Promise<boolean> {
    const table = this.#leader.hasExited() ? await listProcesses() : []
    return this.#groupIsOurs(table) && sendSignal(-this.#leader.pid, signal)
  }

  #carriesMarker = (entry: { markers: string[] }) => entry.markers.includes(this.#leader.marker)

  /** The kernel keeps a group's number reserved while the group has members, so a process with it is a stranger. */
  #groupIsOurs(table: ProcessEntry[]): boolean {
    if (!this.#leader.hasExited()) return true
    return this.#leader.leftGroupBehind() && !table.some(entry => entry.pid === this.#leader.pid)
  }
}

export async function living(entries: ProcessEntry[]): Promise<ProcessEntry[]> {
  const alive = await Promise.all(entries.map(isSameProcessAlive))
  return entries.filter((_entry, index) => alive[index])
}

/** False when the process is gone, or is one we may not signal. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function addDescendants(members: Map<number, ProcessEntry>, table: ProcessEntry[]): void {
  let before: number
  do {
    before = members.size
    for (const entry of table) if (members.has(entry.parentPid)) members.set(entry.pid, entry)
  } while (members.size > before)
}

function keyOf(entry: ProcessEntry): string {
  return `${entry.pid}@${entry.startedAt}`
}
