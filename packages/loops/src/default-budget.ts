import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { writeFileNow } from '@chirality/disk'
import { z } from 'zod'
import { readIfThere } from './files.ts'
import type { LoopSettings } from './loop-settings.ts'

/** Budget of a loop when neither its list nor the user sets one, and the user was never asked. */
export const STATED_BUDGET_USD = 20

const stored = z.object({ usd: z.number().positive().nullable() })

/**
 * The user's answer about the default budget; null is no limit. Undefined if the user was never asked, or the file is
 * damaged.
 */
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

/** True if the list limits the spending of its loop. */
export function limitsSpending({ budget_usd, budget_tokens }: Partial<LoopSettings>): boolean {
  return budget_usd !== undefined || budget_tokens !== undefined
}

/**
 * Settings of a list, overridden by those of the caller. Without any budget the default applies, because an unattended
 * loop must not spend without end. A budget given explicitly as undefined means none.
 */
export function withBudget(
  home: string,
  written: LoopSettings,
  given: Partial<LoopSettings> = {},
): LoopSettings {
  const settings = { ...written, ...given }
  if (limitsSpending(settings) || Object.hasOwn(given, 'budget_usd')) return settings
  const known = readDefaultBudget(home)
  const usd = known === undefined ? STATED_BUDGET_USD : known
  return usd === null ? settings : { ...settings, budget_usd: usd }
}
