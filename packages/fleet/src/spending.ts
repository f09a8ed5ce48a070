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
  NOTHING,
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
 * What the other machines spent on projects, for the budgets of this one. Hubs hear it with the beats; a worker reads
 * nothing of another machine, so hubs tell it. It is in a file: a machine whose broker is away counts what it knew.
 */
export class FleetSpending {
  readonly #own: string
  /** By machine, then by project: a machine that does not name a project any more has spent what it had. */
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

  /** `at` is null for what was stored before this machine listened: it keeps its time if it is known already. */
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

  /** Resolves when what is known is on the disk. */
  async close(): Promise<void> {
    if (this.#known.size > 0) await this.#saved.save().catch(() => {})
  }

  /** What a hub says, which may be any machine with its key. */
  take(said: unknown): void {
    for (const { machine, ageMs, ...spent } of toldSpending.parse(said))
      if (machine !== this.#own)
        this.heard(machine, [spent], ageMs === null ? null : new Date(Math.max(0, Date.now() - ageMs)))
  }

  /** Without those of this machine. */
  elsewhere(key: string): SpentElsewhere[] {
    return [...this.#known].flatMap(([machine, of]) =>
      machine === this.#own ? [] : elsewhereOf(machine, of.get(key)),
    )
  }

  /**
   * Of a hub: tells every worker that is there what the others spent on its projects. Other hubs hear it themselves. One
   * that is slow holds up nobody.
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
        if (other === machine || shared === undefined || isSameSpending(shared, NOTHING)) return []
        const { at, ...spent } = shared
        const ageMs = at === null ? null : Math.max(0, Date.now() - Date.parse(at))
        return [{ machine: other, ageMs, ...spent }]
      }),
    )
  }
}

/** The time is that of the number: an older, lower one changes neither. */
function merged(before: Known | undefined, said: ProjectSpent, at: string | null): Known {
  if (before === undefined) return { ...said, at }
  const largest = largestSpending(before, said)
  if (!isSameSpending(largest, said)) return { ...largest, at: before.at }
  if (at === null) return { ...largest, at: isSameSpending(before, said) ? before.at : null }
  // A time in the future is of a clock that was set back since.
  const isNewer = before.at !== null && before.at > at && before.at <= new Date().toISOString()
  return { ...largest, at: isNewer ? before.at : at }
}

/** In order: a broker takes no message of many megabytes. */
async function sendParts(said: ToldSpending, send: (part: ToldSpending) => Promise<void>): Promise<void> {
  for (let from = 0; from < said.length; from += PART) await send(said.slice(from, from + PART))
}

interface ToldMachine {
  machine: string
  role: Role
  state: MachineState
  isThis: boolean
}

/** What is known of a project, from the file. */
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
  if (spent === undefined || isSameSpending(spent, NOTHING)) return []
  const { key: _, ...amounts } = spent
  return [{ machine, ...amounts }]
}

function fileIn(home: string): string {
  return join(fleetFolder(home), 'spent.json')
}

/** A damaged file is as none: the machines tell it again. */
function readStored(file: string): z.infer<typeof stored> {
  try {
    return stored.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

/** How old the times in the file may be. */
const SAVE_MS = 60_000
/** Entries of one message. A name of a project has at most 1,000 characters. */
const PART = 1000
