import { parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

export type OptionSpec = Record<string, { type: 'string' | 'boolean'; short?: string }>

type Values<S extends OptionSpec> = { [K in keyof S]?: S[K]['type'] extends 'boolean' ? boolean : string }

/** Reads a command's options. A wrong one is a UsageError that names the nearest right one. */
export function readOptions<S extends OptionSpec>(
  args: string[],
  spec: S,
): { values: Values<S>; positionals: string[] } {
  refuseUnknown(args, spec)
  try {
    const { values, positionals } = parseArgs({ args, options: spec, allowPositionals: true, strict: true })
    return { values: values as Values<S>, positionals }
  } catch (error) {
    throw new UsageError(error instanceof Error ? firstSentence(error.message) : String(error))
  }
}

export function integer(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1)
    throw new UsageError(`--${name} must be a whole number above 0, not "${text}".`)
  return value
}

export function oneOf<T extends string>(
  name: string,
  text: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (text === undefined) return undefined
  const found = allowed.find(value => value === text)
  if (!found) throw new UsageError(`--${name} must be one of ${allowed.join(', ')}, not "${text}".`)
  return found
}

/** Before parseArgs, whose own message for a misspelt flag suggests something else. */
function refuseUnknown(args: string[], spec: OptionSpec): void {
  for (const arg of args) {
    if (arg === '--') return
    if (!arg.startsWith('--') || arg.length === 2) continue
    const name = arg.slice(2).split('=')[0] ?? ''
    if (name in spec) continue
    const near = nearest(name, Object.keys(spec))
    throw new UsageError(`Unknown option --${name}.${near ? ` Did you mean --${near}?` : ''}`)
  }
}

export function nearest(word: string, candidates: string[]): string | undefined {
  const scored = candidates.map(candidate => ({ candidate, distance: editDistance(word, candidate) }))
  scored.sort((a, b) => a.distance - b.distance)
  const best = scored[0]
  return best && best.distance <= Math.max(2, Math.floor(best.candidate.length / 3))
    ? best.candidate
    : undefined
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

function firstSentence(message: string): string {
  return `${message.split(/\.\s|\n/)[0]}.`
}
