import { z } from 'zod'
import type { ScheduleEntry } from './schedule.ts'

// Shapes of all entries in a schedule's journal. The schedule itself is parsed where it is used, because an invalid one
// must not end its journal.

const text = z.string()
const time = text.refine(value => !Number.isNaN(Date.parse(value)), 'must be a time')
const count = z.number()
const names = z.array(text)
const receipt = z.looseObject({
  outcome: z.enum(['done', 'failed', 'needs-you', 'limit', 'stopped']),
  exitCode: count,
  words: text,
  sessions: names,
  loopId: text.nullable(),
  harness: text.nullable(),
  model: text.nullable(),
  costUsd: count.nullable(),
  costIsEstimate: z.boolean(),
  tokens: count,
  endedAt: time,
})
const run = {
  run: text,
  due: time,
  why: z.enum(['due', 'missed', 'asked']),
  sessionId: text.optional(),
  worktreeId: text.optional(),
  loopId: text.optional(),
  before: z.looseObject({ usd: count.nullable(), tokens: count, iterations: count }).optional(),
}
const skipped = { due: time, times: count, why: z.enum(['missed', 'running']) }
const state = z.looseObject({
  schedule: z.looseObject({}),
  addedAt: time,
  since: time,
  isPaused: z.boolean(),
  isRemoved: z.boolean(),
  dealtWith: count,
  asked: count,
  earlier: z.looseObject({ runs: count, usd: count }),
  runs: z.array(z.looseObject({ ...run, claimedAt: time, receipt: receipt.nullable() })),
  skipped: z.looseObject(skipped).nullable(),
})

const KINDS = {
  'schedule:added': { schedule: z.looseObject({}) },
  'schedule:changed': { schedule: z.looseObject({}) },
  'schedule:kept': { upTo: count, state },
  'schedule:paused': {},
  'schedule:resumed': {},
  'schedule:removed': {},
  'run:asked': {},
  'run:claimed': { ...run, until: time },
  'run:ended': { run: text, receipt },
  'run:skipped': skipped,
} satisfies { [T in ScheduleEntry['type']]: z.ZodRawShape }

const SCHEMAS = new Map<unknown, z.ZodType>(
  Object.entries(KINDS).map(([type, shape]) => [type, z.looseObject({ at: time, ...shape })]),
)

/** Undefined if the line is invalid, or of a kind that this version does not know. */
export function readScheduleEntry(line: string): (ScheduleEntry & { at: string }) | undefined {
  try {
    const value: unknown = JSON.parse(line)
    const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
    return SCHEMAS.get(type)?.safeParse(value).success ? (value as ScheduleEntry & { at: string }) : undefined
  } catch {
    return undefined
  }
}
