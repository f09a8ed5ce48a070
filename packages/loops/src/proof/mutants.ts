import path from 'node:path'
import { readTextCarefully, writeFileNow as replaceFile } from '@chirality/disk'
import { hasPassed } from '../checks.ts'
import type { FileLines } from './changed-lines.ts'
import { isTestFile } from './file-kinds.ts'
import type { FreshCheckout } from './fresh-checkout.ts'
import type { JudgeFacts } from './judge.ts'
import type { Mutants } from './verdict.ts'

interface Mutant {
  file: string
  /** Number of the line, from 1. */
  line: number
  text: string
  change: string
}

/**
 * Small changes of the changed lines, each run against the checks. One that they do not notice survived. One whose checks
 * were cut off by the end of `limitMs` was not tried.
 */
export async function tryMutants(
  checkout: FreshCheckout,
  facts: JudgeFacts & {
    lines: readonly FileLines[] | null
    wanted: number
    limitMs: number
    signal: AbortSignal
  },
): Promise<Mutants> {
  const { files, commit, checks, lines, wanted, limitMs, signal } = facts
  await checkout.put(commit, files, { gone: 'D' })
  const mutants = spread(mutantsOf(facts, lines ?? []), wanted)
  const done: Mutants = { tried: 0, survived: [] }
  const end = performance.now() + limitMs
  for (const { file, line, text, change } of mutants) {
    if (signal.aborted || performance.now() >= end) break
    const root = checkout.tree.top
    const at = path.join(root, file)
    const read = await readTextCarefully({ root, path: file, links: 'none', maxBytes: MAX_BYTES })
    if (read === undefined || 'fault' in read) continue
    const changed = read.text.split('\n')
    changed[line - 1] = text
    replaceFile(at, changed.join('\n'))
    try {
      let isNoticed = false
      for (const { command } of checks) {
        if (isNoticed) break
        const { result } = await checkout.run(command, Math.max(1, end - performance.now()))
        isNoticed = !hasPassed(result)
      }
      if (performance.now() >= end) break
      done.tried += 1
      if (!isNoticed) done.survived.push({ file, line, change })
    } finally {
      replaceFile(at, read.text)
    }
  }
  return done.tried < mutants.length ? { ...done, planned: mutants.length } : done
}

function mutantsOf({ matter }: JudgeFacts, lines: readonly FileLines[]): Mutant[] {
  const judging = new Set([...matter.tests, ...matter.means])
  return lines
    .filter(({ path: file }) => CODE.test(file) && !judging.has(file) && !isTestFile(file))
    .flatMap(({ path: file, added, addedAt }) =>
      added.flatMap((line, at): Mutant[] => {
        const rule = RULES.find(([pattern]) => pattern.test(line))
        if (rule === undefined || /^\s*(\/\/|#|\*|import\b|from\b)/.test(line)) return []
        const text = line.replace(rule[0], rule[1])
        return [
          { file, line: addedAt[at] ?? 0, text, change: `${line.trim()} → ${text.trim()}`.slice(0, 200) },
        ]
      }),
    )
}

/** Picks as many as are wanted from all over the change. */
function spread(all: readonly Mutant[], wanted: number): Mutant[] {
  if (all.length <= wanted) return [...all]
  return Array.from({ length: wanted }, (_, at) => all[Math.floor((at * all.length) / wanted)] as Mutant)
}

const MAX_BYTES = 4 * 1024 * 1024
const CODE = /\.([cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|c|cc|cpp|swift)$/
/** The first that fits is made, once in a line. */
const RULES: readonly [RegExp, string][] = [
  [/===/, '!=='],
  [/!==/, '==='],
  [/==/, '!='],
  [/!=/, '=='],
  [/<=/, '>'],
  [/>=/, '<'],
  [/&&/, '||'],
  [/\|\|/, '&&'],
  [/\band\b/, 'or'],
  [/\bor\b/, 'and'],
  [/ \+ /, ' - '],
  [/ - /, ' + '],
  [/ \* /, ' / '],
  [/ < /, ' >= '],
  [/ > /, ' <= '],
  [/\btrue\b/, 'false'],
  [/\bfalse\b/, 'true'],
  [/\bTrue\b/, 'False'],
  [/\bFalse\b/, 'True'],
  [/\b([1-9]\d*)\b/, '0'],
  [/\b0\b/, '1'],
  [/(['"])[^'"]+\1/, '$1$1'],
]
