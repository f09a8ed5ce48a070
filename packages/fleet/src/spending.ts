import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SpentElsewhere } from '@chirality/sessions'
import { z } from 'zod'
import type { MachineState } from './claim/presence.ts'
import { fleetFolder } from './engine/fleet-files.ts'
import { SavedText } from './engine/saved-text.ts'
import { type ProjectSpent, spentList, type ToldSpending, toldSpending } from './spent-list.ts'

const stored = z.record(z.string(), z.object({ at: z.iso.datetime().nullable(), spent: spentList }))

/**
 * What the other machines spent on projects, for the budgets of this one. Hubs hear it with the beats; a worker reads
 * nothing of another machine, so hubs tell it. It is in a file: a machine whose broker is away counts what it knew.
 */
export class FleetSpending {
  readonly #own: string
  readonly #known: Map<string, { at: string | null; spent: ProjectSpent[] }>
  readonly #saved: SavedText
  readonly #telling = new Set<string>()

  constructor(home: string, own: string) {
    this.#own = own
    const file = fileIn(home)
    this.#known = new Map(Object.entries(readStored(file)))
    this.#saved = new SavedText(file, () => JSON.stringify(Object.fromEntries(this.#known)))
  }

  /** `at` is null for what was stored before this machine listened: it keeps its time if it is known already. */
  heard(machine: string, spent: ProjectSpent[], at: Date | null): void {
    const known = this.#known.get(machine)
    const isSame = JSON.stringify(known?.spent ?? []) === JSON.stringify(spent)
    if (known === undefined && spent.length === 0) return
    const time = at?.toISOString() ?? (isSame ? known?.at : null) ?? null
    this.#known.set(machine, { at: time, spent })
    const isDue = time !== null && Date.parse(time) - Date.parse(known?.at ?? '1970') >= SAVE_MS
    if (!isSame || isDue) void this.#saved.save().catch(() => {})
  }

  /** Resolves when what is known is on the disk. */
  async close(): Promise<void> {
    if (this.#known.size > 0) await this.#saved.save().catch(() => {})
  }

  /** What a hub says, which may be any machine with its key. */
  take(said: unknown): void {
    for (const { machine, ageMs, spent } of toldSpending.parse(said))
      if (machine !== this.#own)
        this.heard(machine, spent, ageMs === null ? null : new Date(Date.now() - ageMs))
  }

  /** Without those of this machine. */
  elsewhere(key: string): SpentElsewhere[] {
    return elsewhereOf(this.#known, key, this.#own)
  }

  /** Of a hub: tells every machine that is there what the others spent on its projects. One that is slow holds up nobody. */
  tell(machines: readonly ToldMachine[], send: (machine: string, told: ToldSpending) => Promise<void>): void {
    for (const { machine, state, isThis, repositories } of machines) {
      if (isThis || state !== 'here' || this.#telling.has(machine)) continue
      const keys = new Set(repositories.map(({ key }) => key))
      const said = [...this.#known].flatMap(([other, { at, spent }]): ToldSpending => {
        const shared = spent.filter(({ key }) => keys.has(key))
        const ageMs = at === null ? null : Math.max(0, Date.now() - Date.parse(at))
        return other === machine || shared.length === 0 ? [] : [{ machine: other, ageMs, spent: shared }]
      })
      if (said.length === 0) continue
      this.#telling.add(machine)
      void send(machine, said)
        .catch(() => {})
        .finally(() => this.#telling.delete(machine))
    }
  }
}

interface ToldMachine {
  machine: string
  state: MachineState
  isThis: boolean
  repositories: readonly { key: string }[]
}

/** What is known of a project, from the file. */
export function storedSpending(home: string, key: string, own: string): SpentElsewhere[] {
  return elsewhereOf(Object.entries(readStored(fileIn(home))), key, own)
}

function elsewhereOf(
  known: Iterable<[string, { at: string | null; spent: ProjectSpent[] }]>,
  key: string,
  own: string,
): SpentElsewhere[] {
  return [...known].flatMap(([machine, { at, spent }]) =>
    machine === own
      ? []
      : spent.filter(one => one.key === key).map(({ key: _, ...amounts }) => ({ machine, at, ...amounts })),
  )
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
