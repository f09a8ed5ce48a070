import { z } from 'zod'
import type { JournalEntry, Stamped } from './journal.ts'
import { STORED_SETTINGS } from './loop-settings.ts'
import { FLAG_KINDS, type Proof } from './proof/verdict.ts'

// Unknown fields of a later version are kept, and missing fields of an earlier one get a default. A line is refused
// only if a needed field is missing or has another type.
const text = z.string()
const texts = z.array(text)
const count = z.number()
const time = text.refine(value => Number.isFinite(Date.parse(value)), 'no time')
const by = z.enum(['server', 'command'])
const diff = z.looseObject({ files: count, insertions: count, deletions: count })
const spent = z.looseObject({ usd: count.nullable(), isEstimate: z.boolean(), tokens: count })
const fresh = z.looseObject({ sessionId: text, worktreeId: text, base: text })
const check = z.looseObject({
  command: text,
  exitCode: count.nullable(),
  stopped: text.optional(),
  ms: count,
  bytes: count,
  leftBehind: count,
  tail: text,
})
const FLAG = z.looseObject({ kind: z.enum(FLAG_KINDS), words: text, files: texts })
const counts = z.looseObject({
  tests: count,
  passed: count,
  failed: count,
  skipped: count,
  todo: count,
  failingByDesign: count,
  assertions: count.nullable(),
  files: texts.nullable(),
})
const countOf = z.looseObject({
  counted: z.looseObject({ runner: text, counts, failing: texts }).nullable(),
  uncounted: text.optional(),
})
const baseResult = z.looseObject({
  command: text,
  state: z.enum(['green', 'red', 'flaky', 'missing']),
  exitCode: count.nullable(),
  tail: text,
  ...countOf.shape,
})
/** A proof in the journal and in receipts. */
export const PROOF = z.looseObject({
  base: z.array(baseResult),
  own: z.array(check),
  flags: z.array(FLAG),
  judged: z.discriminatedUnion('kind', [
    z.looseObject({ kind: z.literal('same') }),
    z.looseObject({ kind: z.literal('ran'), results: z.array(check), putBack: texts }),
    z.looseObject({ kind: z.literal('unreadable'), why: text }),
  ]),
  counts: z.looseObject({ before: counts.nullable(), after: counts.nullable(), by: text.nullable() }),
  fresh: z.discriminatedUnion('kind', [
    z.looseObject({ kind: z.enum(['none', 'red']) }),
    z.looseObject({ kind: z.enum(['green', 'unreadable']), why: text }),
  ]),
  mutants: z
    .looseObject({
      tried: count,
      planned: count.optional(),
      survived: z.array(z.looseObject({ file: text, line: count, change: text })),
    })
    .optional(),
}) as unknown as z.ZodType<Proof>
/** A task id, which becomes part of file names. */
const taskId = text.regex(/^(?!\.)[^/\\\0]{1,200}$/)
const task = z.looseObject({
  id: taskId,
  title: text,
  notes: text,
  groups: texts,
  checks: texts,
  expect: z.enum(['diff', 'none']),
  persona: text.optional(),
  harness: text.optional(),
  nextHarnesses: texts.optional(),
  model: text.optional(),
  budgetUsd: count.optional(),
  budgetTokens: count.optional(),
  where: texts.optional(),
  mayChangeTests: z.literal(true).optional(),
  dependsOn: texts,
  ticked: z.boolean(),
  line: count,
})
const start = fresh.extend({ task })
const ofTask = { task: text }
const turn = { ...ofTask, n: count }

const KINDS = {
  'loop:start': {
    loopId: text,
    list: text,
    projectRoot: text,
    base: text,
    baseBranch: text.nullable(),
    worktreeId: text,
    settings: STORED_SETTINGS,
    allowed: texts.optional(),
    by: by.optional(),
    ticked: texts.optional(),
    listHash: text.optional(),
  },
  'journal:altered': { found: texts },
  'copy:altered': { files: texts },
  'branch:altered': { commit: text },
  'run:start': {
    run: text,
    pid: count,
    by: by.optional(),
    settings: STORED_SETTINGS.optional(),
    until: time.optional(),
  },
  'run:left': {},
  'loop:settings': { settings: STORED_SETTINGS, until: time.nullable().optional() },
  'commands:allowed': { commands: texts },
  'commands:refused': { commands: texts },
  'loop:setup': {},
  'base:checked': { commit: text, setup: texts, results: z.array(baseResult) },
  'loop:branch': { branch: text },
  'list:changed': {
    added: texts,
    changed: texts,
    removed: texts,
    ticked: texts.optional(),
    unticked: texts.optional(),
  },
  'task:start': start.shape,
  'task:setup': ofTask,
  'iteration:start': { ...turn, fromSeq: count, prompt: text.optional() },
  'iteration:end': {
    ...turn,
    reason: text,
    spent,
    pattern: texts.optional(),
    limit: z.looseObject({ harness: text, until: time.optional() }).optional(),
    error: z.looseObject({ code: text, words: text, crashes: count.optional() }).optional(),
    denied: texts.optional(),
  },
  'task:session': { ...ofTask, sessionId: text, why: text },
  'task:handed': { ...ofTask, from: text, to: text, sessionId: text, why: text },
  'task:placed': { ...turn, machine: text, why: text },
  'task:waits': { ...turn, why: text },
  'task:returned': { ...ofTask, worktreeId: text },
  'task:lost': { ...turn, why: text, fresh, spent: spent.optional() },
  'checks:start': { ...turn, marker: text },
  'checks:end': {
    ...turn,
    tree: text,
    diff,
    results: z.array(check),
    failure: text.optional(),
    counted: z.array(countOf).optional(),
    read: texts.nullable().optional(),
    hidden: texts.optional(),
  },
  'task:proved': { ...ofTask, commit: text, flags: z.array(FLAG).optional(), proof: PROOF.optional() },
  'merge:start': { ...ofTask, onto: text },
  'task:merged': { ...ofTask, commit: text, receipt: text.optional() },
  'tasks:parked': { tasks: z.array(start.extend({ commands: texts, missing: texts.optional() })) },
  'task:parked': {
    ...ofTask,
    kind: z.enum([
      ...(['question', 'plan', 'permission', 'conflict', 'merge-checks', 'budget'] as const),
      ...(['harness', 'commands', 'interrupted', 'error'] as const),
    ]),
    why: text,
    commands: texts.optional(),
  },
  'task:failed': { ...ofTask, why: text },
  'task:again': { ...ofTask, note: text, fresh: fresh.optional(), now: task.optional() },
  'revert:start': { ...ofTask, onto: text },
  'task:reverted': { ...ofTask, commit: text },
  'loop:accepted': { tasks: texts, into: text, commit: text },
  'branch:kept': { ref: text },
  'loop:wait': { until: time, why: text },
  'loop:end': {
    reason: z.enum(['done', 'blocked', 'stopped', 'limit', 'rate-limit', 'list-missing', 'failed']),
    why: text,
  },
} satisfies { [T in JournalEntry['type']]: z.ZodRawShape }

const SCHEMAS = new Map<string, z.ZodType>(
  Object.entries(KINDS).map(([type, shape]) => [
    type,
    z.looseObject({ at: text, type: z.literal(type), ...shape }),
  ]),
)

/** Parses a line, or returns the reason why this version cannot read it. Never throws. */
export function readEntry(line: string): { entry: Stamped } | { why: string } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return { why: 'it is no JSON' }
  }
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (typeof type !== 'string') return { why: 'it has no type' }
  const schema = SCHEMAS.get(type)
  if (schema === undefined)
    return { why: `its type ${JSON.stringify(type.slice(0, 40))} is not known to this version` }
  const parsed = schema.safeParse(value)
  if (parsed.success) return { entry: parsed.data as Stamped }
  const [issue] = parsed.error.issues
  return { why: `${type}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}` }
}
