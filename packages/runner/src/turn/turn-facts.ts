import { readFile, rm, writeFile } from 'node:fs/promises'

/** What a reader has to know and the agent's output does not say. JSON. */
export type TurnFacts = Record<string, unknown>

/** Kept beside the spool while the turn runs, so that a later Chirality reads the spool as this one does. */
export async function keepTurnFacts(place: FactsPlace, facts: TurnFacts): Promise<void> {
  await writeFile(factsPath(place), JSON.stringify(facts), { mode: 0o600, flag: 'wx' })
}

/** Nothing where there are none: most of a turn can be told without. */
export async function readTurnFacts(place: FactsPlace): Promise<TurnFacts> {
  try {
    const facts: unknown = JSON.parse(await readFile(factsPath(place), 'utf8'))
    return typeof facts === 'object' && facts !== null ? (facts as TurnFacts) : {}
  } catch {
    return {}
  }
}

export function removeTurnFacts(place: FactsPlace): Promise<void> {
  return rm(factsPath(place), { force: true })
}

export interface FactsPlace {
  spoolPath: string
  turnId: string
}

/** A spool that serves many turns has one file for each. */
function factsPath({ spoolPath, turnId }: FactsPlace): string {
  return `${spoolPath}.${turnId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}.json`
}
