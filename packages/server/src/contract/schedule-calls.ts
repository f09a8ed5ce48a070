import { NEW_SCHEDULE, type RunReceipt, SCHEDULE_TIMES, type ScheduleRun } from '@chirality/loops'
import { z } from 'zod'
import { project } from './values.ts'

// Calls about schedules: prompts and loops that the server runs at times.

export const scheduleId = z
  .string()
  .min(1)
  .max(100)
  .describe('The id of a schedule, the beginning of it, or its name.')
const bySchedule = z.strictObject({ id: scheduleId })
const time = z.string()

const receipt = z.strictObject({
  outcome: z.enum(['done', 'failed', 'needs-you', 'limit', 'stopped']),
  exitCode: z.int().describe('As `chirality run` and `chirality loop run` exit.'),
  words: z.string().describe('Why it is not done, or what the agent said last.'),
  sessions: z.array(z.string()),
  loopId: z.string().nullable(),
  ...{ harness: z.string().nullable(), model: z.string().nullable() },
  ...{ costUsd: z.number().nullable(), costIsEstimate: z.boolean(), tokens: z.number() },
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
  ...{ missed: true, overlap: true, answerMinutes: true, keepRuns: true },
})
  .extend({
    ...{ id: z.string(), addedAt: time, isPaused: z.boolean(), isRunning: z.boolean() },
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
const scheduleWithRuns = shownSchedule
  .extend({
    runs: z.array(run).describe('The last 50 or more, newest first, and all that are not over.'),
    earlier: z.strictObject({ runs: z.int(), usd: z.number() }).describe('All before these.'),
  })
  .meta({ id: 'ScheduleWithRuns' })
const changedSchedule = NEW_SCHEDULE.omit({ project: true })

export type ShownSchedule = z.infer<typeof shownSchedule>

export const scheduleCalls = {
  list: { output: z.array(shownSchedule) },
  get: { input: bySchedule, output: scheduleWithRuns },
  add: { input: NEW_SCHEDULE, output: shownSchedule },
  preview: {
    input: z.strictObject({ when: SCHEDULE_TIMES }),
    output: z.strictObject({ times: z.array(time), words: z.string() }),
  },
  change: { input: bySchedule.extend(changedSchedule.shape), output: shownSchedule },
  pause: { input: bySchedule, output: shownSchedule },
  resume: { input: bySchedule, output: shownSchedule },
  run: { input: bySchedule, output: shownSchedule },
  remove: { input: bySchedule, output: z.strictObject({}) },
}

const answer = <S extends z.ZodType>(description: string, schema: S) => ({
  ...{ status: 200 as const, description },
  json: schema,
})
const call = { kind: 'call' as const }
const one = (action: string, summary: string) => ({
  ...{ ...call, method: 'POST' as const, path: `/api/harness/schedules/:id/${action}`, summary },
  ...{ answer: answer('The schedule', shownSchedule), refuses: [404, 409] },
})

export const scheduleEndpoints = {
  listSchedules: {
    ...{
      ...call,
      method: 'GET' as const,
      path: '/api/harness/schedules',
      summary: 'Schedules, oldest first',
    },
    answer: answer('Schedules', z.array(shownSchedule)),
  },
  addSchedule: {
    ...{ ...call, method: 'POST' as const, path: '/api/harness/schedules' },
    summary: 'Runs a prompt or a loop at times',
    body: changedSchedule.extend({ projectRoot: project }),
    answer: answer('The schedule', shownSchedule),
    refuses: [404, 409],
  },
  getSchedule: {
    ...{ ...call, method: 'GET' as const, path: '/api/harness/schedules/:id' },
    summary: 'A schedule with its last runs and their receipts',
    answer: answer('The schedule', scheduleWithRuns),
    refuses: [404],
  },
  removeSchedule: {
    ...{ ...call, method: 'DELETE' as const, path: '/api/harness/schedules/:id' },
    summary: 'Removes a schedule. What runs goes on',
    answer: { status: 204 as const, description: 'Removed', empty: true as const },
    refuses: [404],
  },
  changeSchedule: {
    ...one('change', 'Changes all of it but its project, and whether it is a prompt or a loop'),
    body: changedSchedule,
  },
  pauseSchedule: one('pause', 'Pauses a schedule'),
  resumeSchedule: one('resume', 'Goes on with a schedule. Times while it was paused are not made up for'),
  runSchedule: one('run', 'Runs it now, beside its times'),
}
