import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { writeFileNow } from '@chirality/disk'
import { z } from 'zod'
import { readIfThere } from './files.ts'
import type { LoopSettings } from './loop-settings.ts'

/** What a loop may spend if neither its list nor whoever starts it says anything, and nobody was asked yet. */
export const STATED_BUDGET_USD = 20

const stored = z.object({ usd: z.number().positive().nullable() })

/** What the user answered once; null is no limit. Undefined if nobody was asked, or the file is damaged. */
export function readDefaultBudget(home: string): number | null | undefined {
  try {
    return stored.parse(JSON.parse(readIfThere(fileOf(home)) ?? '')).usd
  } catch {
    return undefined
  }
}

export function writeDefaultBudget(home: string, usd: number | null): void {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileNow(fileOf(home), `${JSON.stringify({ usd })}\n`)
}

function fileOf(home: string): string {
  return path.join(home, 'loop-budget.json')
}

/** Whether the list limits what its loop spends. */
export function hasBudget({ budget_usd, budget_tokens }: Partial<LoopSettings>): boolean {
  return budget_usd !== undefined || budget_tokens !== undefined
}

/**
 * The settings of a list with those of whoever starts its loop in their place. Without any word about money it has the
 * default: a loop that nobody watches must not spend without end. A budget that is given as undefined is none, by choice.
 */
export function withBudget(
  home: string,
  written: LoopSettings,
  given: Partial<LoopSettings> = {},
): LoopSettings {
  const settings = { ...written, ...given }
  if (hasBudget(settings) || Object.hasOwn(given, 'budget_usd')) return settings
  const known = readDefaultBudget(home)
  const usd = known === undefined ? STATED_BUDGET_USD : known
  return usd === null ? settings : { ...settings, budget_usd: usd }
}
