import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const VARIANTS = fileURLToPath(new URL('./variants.ts', import.meta.url))

/** Runs one variant in a fresh process; what it printed. */
export async function runVariant(name: string, ...args: string[]): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...process.execArgv,
    VARIANTS,
    name,
    ...args,
  ])
  return JSON.parse(stdout)
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

export function spread(values: number[], digits = 2): string {
  return `${values.length} rounds ${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`
}
