import type { VerdictWord } from '@chirality/core'
import type { DiffStat, LoopEndReason, ParkKind, Receipt, Spending, Stamped } from '@chirality/loops'
import { z } from 'zod'
import { harnessId, project, relativePath, usd } from './values.ts'

// Loops: task lists that the centre works through.

export const loopId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,60}$/, 'must be the id of a loop')
export const taskId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,79}$/, 'must be the id of a task')
export const byLoop = z.strictObject({ loopId })
export const byTask = byLoop.extend({ task: taskId })
const note = z.string().max(20_000).describe('Words for the agent of the task.')
const minutes = z
  .number()
  .positive()
  .max(60 * 24 * 30)

/** Limits that a person sets; the rest is in the front matter of the list. Null is no limit. */
const limits = z.strictObject({
  budgetUsd: usd.nullish(),
  budgetTokens: z.int().positive().nullish(),
  maxIterations: z.int().min(1).max(1_000_000).nullish().describe('Turns of agents in all.'),
  maxMinutes: minutes.nullish().describe('Of the whole loop, since it was started.'),
  until: z.iso
    .datetime({ offset: true })
    .nullish()
    .describe('This run ends by then; a later one that is not given a time has none.'),
  parallel: z.int().min(1).max(16).optional().describe('Tasks at once.'),
  answerMinutes: z
    .number()
    .min(0)
    .max(60 * 24)
    .optional()
    .describe('How long a question waits for an answer before its task is parked.'),
  waitForLimits: z
    .int()
    .min(0)
    .max(50)
    .optional()
    .describe('How often it may wait until a limit of the plan is reset, and then go on spending.'),
  handOver: z
    .boolean()
    .optional()
    .describe('Whether another agent goes on with a task when a limit of the plan is reached.'),
  nextHarnesses: z
    .array(harnessId)
    .min(1)
    .max(16)
    .optional()
    .describe('Who goes on, in order. A task that names its own has only those.'),
})

const setLimits = z.strictObject({
  budgetUsd: z.number().nullable(),
  budgetTokens: z.number().nullable(),
  maxIterations: z.number().nullable(),
  maxMinutes: z.number().nullable(),
  until: z.string().nullable().describe('When the present or last run ends.'),
  parallel: z.int(),
  answerMinutes: z.number(),
  maxAttempts: z.int().describe('Turns for one task.'),
  maxFailures: z.int().describe('Failed tasks in a row, after which the loop ends.'),
  waitForLimits: z.int().describe('How often it may wait until a limit of the plan is reset.'),
  waits: z.int().describe('How often it has waited.'),
  handOver: z.boolean(),
  nextHarnesses: z.array(z.string()),
})

const spent = z.strictObject({
  usd: z.number().nullable(),
  isEstimate: z.boolean(),
  tokens: z.number(),
}) satisfies z.ZodType<Spending>

const END_REASONS = [
  ...(['done', 'blocked', 'stopped', 'limit', 'rate-limit', 'list-missing', 'failed'] as const),
] satisfies LoopEndReason[]
const PARK_KINDS = [
  ...(['question', 'plan', 'permission', 'conflict', 'merge-checks', 'budget', 'harness'] as const),
  ...(['commands', 'interrupted', 'error'] as const),
] satisfies ParkKind[]

const time = z.string()

const unprovedTask = z.strictObject({
  id: z.string(),
  title: z.string(),
  status: z.enum(['working', 'parked', 'failed']),
  iterations: z.int(),
  sessionId: z.string().nullable().describe('Null if nothing of it has run.'),
  endedAt: time.nullable(),
  parked: z.enum(PARK_KINDS).nullable(),
  why: z.string().nullable(),
  commands: z.array(z.string()).optional().describe('It is parked because nobody allowed these commands.'),
  options: z.array(z.string()).optional().describe('The answers that its agent offered.'),
})

export type UnprovedTask = z.infer<typeof unprovedTask>

export const loopSummary = z
  .strictObject({
    loopId: z.string(),
    project: z.string(),
    list: z.string().describe('Its file: a path in the project, or an absolute one.'),
    startedAt: time,
    runs: z
      .enum(['here', 'elsewhere', 'no'])
      .describe('`elsewhere`: `chirality loop` has it in another process.'),
    isOver: z.boolean().describe('Nothing of it can go on by itself.'),
    version: z.int().describe('Grows with each thing that happens.'),
    iterations: z.int(),
    counts: z.strictObject({
      proved: z.int().describe('Their checks held twice, and there is nothing to look at.'),
      look: z.int().describe('Proved, with something to look at.'),
      noCheck: z.int().describe('Merged, and no check says that they are right.'),
      parked: z.int(),
      failed: z.int(),
      working: z.int(),
      toGo: z.int(),
      claimed: z.int().describe('Ticked by somebody, not proved.'),
    }),
    spent,
    limits: setLimits,
    working: z.array(z.string()).describe('The sessions of the tasks that are worked on.'),
    unproved: z.array(unprovedTask).describe('The begun tasks that are not proved.'),
    warnings: z
      .array(z.string())
      .describe('Somebody changed files of the loop, or ticked boxes: what a person has to know first.'),
    mustSay: z.boolean().describe('Its files are not as this machine wrote them: `resume` needs `asFound`.'),
    waitsUntil: time.nullable().describe('A limit of the plan is reset then.'),
    end: z.strictObject({ reason: z.enum(END_REASONS), why: z.string(), at: time }).nullable(),
  })
  .meta({ id: 'LoopSummary' })

const diff = z.strictObject({
  files: z.int(),
  insertions: z.int(),
  deletions: z.int(),
}) satisfies z.ZodType<DiffStat>
const flag = z.strictObject({ kind: z.string(), words: z.string(), files: z.array(z.string()) })

const runningCommand = z.strictObject({ command: z.string(), since: time, output: z.string() })

const VERDICTS = ['proved', 'look', 'no-check', 'not-proved', 'parked'] satisfies VerdictWord[]

const shownTask = z.strictObject({
  id: z.string(),
  title: z.string(),
  groups: z.array(z.string()),
  dependsOn: z.array(z.string()),
  status: z
    .enum(['open', 'ticked', 'claimed', 'working', 'merged', 'parked', 'failed', 'reverted'])
    .describe(
      '`ticked`: its box was ticked before the loop began. `claimed`: somebody ticked it since; it is not proved.',
    ),
  harness: z.string().nullable().describe('Who works on it, if the list names one or it was handed over.'),
  handed: z.array(z.strictObject({ from: z.string(), to: z.string(), at: time, why: z.string() })),
  stage: z.enum(['set-up', 'turn', 'checks', 'merging', 'rest']).nullable(),
  inList: z.boolean(),
  iterations: z.int(),
  sessionId: z.string().nullable(),
  worktreeId: z.string().nullable(),
  machine: z.string().optional().describe('The machine of the fleet that makes, or made, its last turn.'),
  waits: z.string().optional().describe('Why its turn waits for a machine of the fleet.'),
  checks: z.array(z.strictObject({ command: z.string(), exitCode: z.int().nullable().optional() })),
  diff: diff.nullable(),
  spent: spent.nullable(),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  parked: z.enum(PARK_KINDS).nullable(),
  why: z.string().nullable(),
  commands: unprovedTask.shape.commands,
  options: unprovedTask.shape.options,
  commit: z.string().nullable(),
  accepted: z.strictObject({ into: z.string(), commit: z.string() }).nullable(),
  flags: z.array(flag).describe('What to look at, found without a model.'),
  verdict: z
    .enum(VERDICTS)
    .nullable()
    .describe('What is known of it, in one word; null while it is worked on and for one that was not begun.'),
})

export const loopWithTasks = loopSummary
  .extend({
    branch: z.string().nullable().describe('Of the proved tasks; null if it was removed.'),
    baseBranch: z.string().nullable(),
    listProblem: z.string().nullable().describe('Why the list cannot be read.'),
    changes: z.strictObject({
      added: z.array(z.string()),
      changed: z.array(z.string()),
      removed: z.array(z.string()),
      ticked: z.array(z.string()).describe('By somebody else than the loop.'),
      unticked: z.array(z.string()).describe('Ticks of the loop that somebody took away.'),
    }),
    base: z
      .strictObject({
        checks: z.array(
          z.strictObject({
            command: z.string(),
            state: z.enum(['green', 'red', 'flaky', 'missing']),
            tests: z.int().nullable().describe('By the report of the runner.'),
          }),
        ),
        running: runningCommand.nullable(),
      })
      .describe('What set-up and checks did before the first task began.'),
    tasks: z.array(shownTask),
  })
  .meta({ id: 'Loop' })

const receipt = z
  .custom<Receipt>(value => typeof value === 'object' && value !== null)
  .meta({ type: 'object' })

export const loopTaskDetails = z.strictObject({
  checks: z.array(
    z.strictObject({
      command: z.string(),
      exitCode: z.int().nullable(),
      ms: z.number(),
      bytes: z.number(),
      stopped: z.string().optional().describe('Why there is no exit code.'),
      tail: z.string().describe('The end of what it printed.'),
      leftBehind: z.int().describe('Processes that it left running, and that were stopped.'),
    }),
  ),
  failure: z.string().nullable().describe('Why the last iteration was not accepted.'),
  prompt: z.string().nullable().describe('What the agent was told in the last iteration.'),
  notes: z.array(z.string()).describe('What people said to it.'),
  running: runningCommand
    .nullable()
    .describe('The set-up command or check that runs now, with what it has printed so far.'),
  receipt: receipt.nullable(),
  receiptText: z.string().nullable().describe('As Markdown.'),
})

export type LoopSummary = z.infer<typeof loopSummary>
export type ShownLoop = z.infer<typeof loopWithTasks>
export type ShownTask = z.infer<typeof shownTask>
export type LoopTaskDetails = z.infer<typeof loopTaskDetails>
export type LoopLimits = z.infer<typeof limits>

export const journalEntry = z
  .custom<Stamped>(value => typeof value === 'object' && value !== null && 'type' in value)
  .meta({ type: 'object' })
  .describe('A line of the journal: `type`, `at`, and what that type has.')

export const taskFile = z.strictObject({
  path: z.string(),
  open: z.int().describe('Tasks that are not ticked.'),
  done: z.int(),
  problem: z.string().nullable().describe('Why it cannot be used, with the line.'),
})

export type TaskFile = z.infer<typeof taskFile>

export const loopPlan = z.strictObject({
  list: z.string(),
  tasks: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      groups: z.array(z.string()),
      dependsOn: z.array(z.string()),
      expect: z.enum(['diff', 'none']),
      checks: z.int(),
      persona: z.string().nullable(),
      harness: z.string().nullable(),
      model: z.string().nullable(),
    }),
  ),
  done: z.int().describe('Tasks that are ticked.'),
  setup: z.array(z.string()),
  checks: z.array(z.string()),
  notices: z.array(z.string()),
  limits: setLimits.pick({
    budgetUsd: true,
    maxIterations: true,
    maxMinutes: true,
    parallel: true,
    waitForLimits: true,
    handOver: true,
    nextHarnesses: true,
  }),
  branch: z.string().nullable().describe('What is checked out.'),
  openLoop: z.string().nullable().describe('A loop on this list that is not over.'),
  problems: z
    .array(z.strictObject({ kind: z.enum(['list', 'git', 'running', 'dirty']), words: z.string() }))
    .describe('What keeps it from starting; `dirty` unless `allowDirty` is given.'),
  fingerprint: z
    .string()
    .describe('Of the commands. Give it to `start`, which is refused if the list names others by then.'),
  isAllowed: z.boolean().describe('There are none, or these were allowed before.'),
})

export type LoopPlan = z.infer<typeof loopPlan>

export const newLoop = z.strictObject({
  project,
  list: relativePath.min(1).describe('The file, in the project.'),
  limits: limits.optional(),
  allowDirty: z.boolean().optional().describe('Although there are changes that are not committed.'),
  commands: z
    .string()
    .max(64)
    .optional()
    .describe('The fingerprint of the commands that a person saw and allowed: with others it is refused.'),
})
const again = z.strictObject({ task: taskId, note })
export const goOn = z.strictObject({
  limits: limits.optional(),
  again: again.optional(),
  allow: z
    .array(z.string().min(1).max(100_000))
    .max(1_000)
    .optional()
    .describe('Commands that parked tasks wait for, word for word: the loop may run them from now on.'),
  asFound: z
    .boolean()
    .optional()
    .describe('Somebody changed the files of the loop: go on with what can still be believed of it.'),
})
export const acceptance = z.strictObject({
  commit: z.string(),
  into: z.string().describe('The branch that has them now.'),
  tasks: z.array(z.string()).describe('With the tasks that a chosen one is built on.'),
})
