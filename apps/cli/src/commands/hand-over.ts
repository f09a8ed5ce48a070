import { isHarnessName } from '@chirality/loops'
import { UsageError } from '../exit-code.ts'

/** `codex,claude-code`: who goes on at a limit of the plan. `off`: nobody, as an empty list. */
export function nextHarnesses(given: string | undefined): string[] | undefined {
  if (given === undefined) return undefined
  if (given === 'off') return []
  const names = given.split(',').map(name => name.trim())
  if (names.every(isHarnessName)) return names
  throw new UsageError(`--hand-over must be names of agents with commas between, or off, not "${given}".`)
}
