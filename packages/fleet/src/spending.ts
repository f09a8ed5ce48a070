import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SpentElsewhere } from '@chirality/sessions'
import { z } from 'zod'
import type { MachineState } from './claim/presence.ts'
import { fleetFolder } from './engine/fleet-files.ts'
import { SavedText } from './engine/saved-text.ts'
import { lenientList } from './lenient-list.ts'
import {
  isSameSpending,
  largestSpending,
  MAX_PROJECTS,
  NOTHING_SPENT,
  type ProjectSpent,
  projectSpent,
  type ToldSpending,
  toldSpending,
} from './spent-list.ts'
import type { Role } from './subjects.ts'

const known = projectSpent.extend({ at: z.iso.datetime().nullable() })
type Known = z.infer<typeof known>

const stored = z.record(z.string(), lenientList(known, MAX_PROJECTS))

/**
 * Spending of other machines on projects, for the budgets of this one. Hubs get it with the beats; a worker cannot read
 * another machine's data, so hubs send it. Stored in a file: a machine whose broker is away counts the last known
 * amounts.
 */
export class FleetSpending {
  readonly #own: string
  /** Amounts by machine, then by project. A project stays after its machine no longer names it, because the money was spent. */
  readonly #known: Map<string, Map<string, Known>>
  readonly #saved: SavedText
  readonly #telling = new Set<string>()
  #savedAt = Number.NEGATIVE_INFINITY

  constructor(home: string, own: string) {
    this.#own = own
    const file = fileIn(home)
    this.#known = new Map(
      Object.entries(readStored(file)).map(([machine, list]) => [
        machine,
        new Map(list.map(one => [one.key, one])),
      ]),
    )
    const text = () =>
      JSON.stringify(Object.fromEntries([...this.#known].map(([machine, of]) => [machine, [...of.values()]])))
    this.#saved = new SavedText(file, text)
  }

  /** Takes in amounts. `at` is null if they were stored before this machine listened; a known time is kept then. */
  heard(machine: string, spent: readonly ProjectSpent[], at: Date | null): void {
    const of = this.#known.get(machine) ?? new Map<string, Known>()
    let isDue = performance.now() - this.#savedAt >= SAVE_MS
    for (const one of spent) {
      const before = of.get(one.key)
      if (before === undefined && of.size >= MAX_PROJECTS) continue
      const now = merged(before, one, at?.toISOString() ?? null)
      of.set(one.key, now)
      isDue ||= before === undefined || !isSameSpending(before, now)
    }
    if (of.size === 0 || !isDue) return
    this.#known.set(machine, of)
    this.#savedAt = performance.now()
    void this.#saved.save().catch(() => {})
  }

  /** Resolves when the amounts are on the disk. */
  async close(): Promise<void> {
    if (this.#known.size > 0) await this.#saved.save().catch(() => {})
  }

  /** Takes in amounts from a hub, which may be any machine with its key. */
  take(said: unknown): void {
    for (const { machine, ageMs, ...spent } of toldSpending.parse(said))
      if (machine !== this.#own)
        this.heard(machine, [spent], ageMs === null ? null : new Date(Math.max(0, Date.now() - ageMs)))
  }

  /** Amounts of all machines but this one. */
  elsewhere(key: string): SpentElsewhere[] {
    return [...this.#known].flatMap(([machine, of]) =>
      machine === this.#own ? [] : elsewhereOf(machine, of.get(key)),
    )
  }

  /**
   * Sends each reachable worker what the others spent on its projects; other hubs hear it themselves. A slow worker
   * delays no other.
   */
  tell(machines: readonly ToldMachine[], send: (machine: string, told: ToldSpending) => Promise<void>): void {
    for (const { machine, role, state, isThis } of machines) {
      if (isThis || role === 'hub' || state !== 'here' || this.#telling.has(machine)) continue
      const said = this.#forMachine(machine)
      if (said.length === 0) continue
      this.#telling.add(machine)
      void sendParts(said, part => send(machine, part))
        .catch(() => {})
        .finally(() => this.#telling.delete(machine))
    }
  }

  #forMachine(machine: string): ToldSpending {
    const keys = [...(this.#known.get(machine)?.keys() ?? [])]
    return [...this.#known].flatMap(([other, of]) =>
      keys.flatMap((key): ToldSpending => {
        const shared = of.get(key)
        if (other === machine || shared === undefined || isSameSpending(shared, NOTHING_SPENT)) return []
        const { at, ...spent } = shared
        const ageMs = at === null ? null : Math.max(0, Date.now() - Date.parse(at))
        return [{ machine: other, ageMs, ...spent }]
      }),
    )
  }
}

/** Merges amounts. The time belongs to the amount: an older, lower one changes neither. */
function merged(before: Known | undefined, said: ProjectSpent, at: string | null): Known {
  if (before === undefined) return { ...said, at }
  const largest = largestSpending(before, said)
  if (!isSameSpending(largest, said)) return { ...largest, at: before.at }
  if (at === null) return { ...largest, at: isSameSpending(before, said) ? before.at : null }
  // A time in the future comes from a clock that was set back since.
  const isNewer = before.at !== null && before.at > at && before.at <= new Date().toISOString()
  return { ...largest, at: isNewer ? before.at : at }
}

/** Sends in parts and in order: a broker accepts no message of many megabytes. */
async function sendParts(said: ToldSpending, send: (part: ToldSpending) => Promise<void>): Promise<void> {
  for (let from = 0; from < said.length; from += PART) await send(said.slice(from, from + PART))
}

interface ToldMachine {
  machine: string
  role: Role
  state: MachineState
  isThis: boolean
}

/** Known spending on a project, from the file. */
export function storedSpending(home: string, key: string, own: string): SpentElsewhere[] {
  return Object.entries(readStored(fileIn(home))).flatMap(([machine, list]) =>
    machine === own
      ? []
      : elsewhereOf(
          machine,
          list.find(one => one.key === key),
        ),
  )
}

function elsewhereOf(machine: string, spent: Known | undefined): SpentElsewhere[] {
  if (spent === undefined || isSameSpending(spent, NOTHING_SPENT)) return []
  const { key: _, ...amounts } = spent
  return [{ machine, ...amounts }]
}

function fileIn(home: string): string {
  return join(fleetFolder(home), 'spent.json')
}

/** A damaged file counts as empty: the machines report it again. */
function readStored(file: string): z.infer<typeof stored> {
  try {
    return stored.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

/** Maximum age of the times in the file. */
const SAVE_MS = 60_000
/** Entries per message. The name of a project has at most 1,000 characters. */
const PART = 1000
