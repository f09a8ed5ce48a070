import { NEW_SCHEDULE, type RunReceipt, type ScheduleRun } from '@chirality/loops'
import { z } from 'zod'

// Schedules: prompts and loops that the centre runs at times.

export const scheduleId = z
  .string()
  .min(1)
  .max(100)
  .describe('The id of a schedule, the beginning of it, or its name.')
export const bySchedule = z.strictObject({ id: scheduleId })
export const time = z.string()

const receipt = z.strictObject({
  outcome: z.enum(['done', 'failed', 'needs-you', 'limit', 'stopped']),
  exitCode: z.int().describe('As `chirality run` and `chirality loop run` exit.'),
  words: z.string().describe('Why it is not done, or what the agent said last.'),
  sessions: z.array(z.string()),
  loopId: z.string().nullable(),
  harness: z.string().nullable(),
  model: z.string().nullable(),
  costUsd: z.number().nullable(),
  costIsEstimate: z.boolean(),
  tokens: z.number(),
  endedAt: time,
}) satisfies z.ZodType<RunReceipt>

const run = z.strictObject({
  run: z.string(),
  due: time,
  why: z.enum(['due', 'missed', 'asked']),
  claimedAt: time,
  sessionId: z.string().optional(),
  worktreeId: z.string().optional(),
  loopId: z.string().optional(),
  before: z
    .strictObject({ usd: z.number().nullable(), tokens: z.number(), iterations: z.int() })
    .optional()
    .describe('Of a loop that is gone on with: what it had spent and done before.'),
  receipt: receipt.nullable().describe('Null while it runs.'),
}) satisfies z.ZodType<ScheduleRun>

export const shownSchedule = NEW_SCHEDULE.required({
  missed: true,
  overlap: true,
  answerMinutes: true,
  keepRuns: true,
})
  .extend({
    id: z.string(),
    addedAt: time,
    isPaused: z.boolean(),
    isRunning: z.boolean(),
    words: z.string().describe('When it runs, for people.'),
    upcoming: z.array(time).describe('The next times. None if it is paused.'),
    next: time.nullable().describe('Null if it is paused, or no time is left.'),
    last: run.nullable().describe('The newest run.'),
    skipped: z
      .strictObject({ due: time, times: z.int(), why: z.enum(['missed', 'running']) })
      .nullable()
      .describe('The last times that were not run.'),
  })
  .meta({ id: 'Schedule' })
export const scheduleWithRuns = shownSchedule
  .extend({
    runs: z.array(run).describe('The last 50 or more, newest first, and all that are not over.'),
    earlier: z.strictObject({ runs: z.int(), usd: z.number() }).describe('All before these.'),
  })
  .meta({ id: 'ScheduleWithRuns' })
export const changedSchedule = NEW_SCHEDULE.omit({ project: true })

export type ShownSchedule = z.infer<typeof shownSchedule>
