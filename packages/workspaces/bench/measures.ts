import { readFileSync } from 'node:fs'

export interface Timed<T> {
  ms: number
  /** Of this process and of all that it started and that ended meanwhile. On a busy machine it says more than `ms`. */
  cpuMs: number
  result: T
}

export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const [start, cpu] = [performance.now(), cpuMs()]
  const result = await work()
  return { ms: performance.now() - start, cpuMs: cpuMs() - cpu, result }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const TICK_MS = 10

/** NaN where there is no such file. */
function cpuMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    // utime, stime, cutime, cstime
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
  } catch {
    return Number.NaN
  }
}
