import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What one fresh process reports: CPU time of the measured part and a number all its rivals must agree on. */
export interface Sample {
  cpuMs: number
  check: number
}

export interface Variant {
  name: string
  /** The script and its arguments; it prints a `Sample` as JSON. */
  args: string[]
}

export type Rounds = Map<string, Sample>[]

/**
 * Each variant in a fresh process, one after another, in an order that rotates: what else the machine does then hits
 * all of them alike, and the ratio within a round stays true.
 */
export async function measure(variants: Variant[], rounds: number): Promise<Rounds> {
  const results: Rounds = []
  for (let round = 0; round < rounds; round += 1) {
    const order = variants.map((_, i) => variants[(i + round) % variants.length]).filter(isVariant)
    const samples = new Map<string, Sample>()
    for (const variant of order) samples.set(variant.name, await sample(variant))
    requireSameWork(samples)
    results.push(samples)
  }
  return results
}

/** The CPU time of `above` divided by that of `below`, per round. */
export function cpuRatios(rounds: Rounds, above: string, below: string): number[] {
  return rounds.map(round => cpuMs(round, above) / cpuMs(round, below))
}

export function cpuMs(round: Map<string, Sample>, name: string): number {
  const found = round.get(name)
  if (found === undefined) throw new Error(`${name} was not measured`)
  return found.cpuMs
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

export function spread(ratios: number[]): string {
  return `${ratios.length} rounds ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
}

/** A variant that lost a record would look fast. */
function requireSameWork(samples: Map<string, Sample>): void {
  const checks = new Set([...samples.values()].map(({ check }) => check))
  if (checks.size > 1) throw new Error(`variants disagree: ${JSON.stringify([...samples])}`)
}

async function sample(variant: Variant): Promise<Sample> {
  const args = [...process.execArgv, '--expose-gc', ...variant.args]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

function isVariant(variant: Variant | undefined): variant is Variant {
  return variant !== undefined
}
