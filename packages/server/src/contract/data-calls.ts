import { z } from 'zod'
import * as values from './values.ts'

/** A hundred years, and a petabyte: more than any rule means. */
const MAX_DAYS = 36_500
const MAX_BYTES = 1e15

const rule = z
  .discriminatedUnion('keep', [
    z.strictObject({ keep: z.literal('forever') }),
    z.strictObject({ keep: z.literal('days'), days: z.int().positive().max(MAX_DAYS) }),
    z.strictObject({ keep: z.literal('size'), bytes: z.int().positive().max(MAX_BYTES) }),
  ])
  .describe('How long raw logs are kept. A size is of the projects together: every hour, of the open ones.')

const amount = z.strictObject({ logs: z.int(), bytes: z.number() })
const prunedProject = amount.extend({ projectRoot: z.string() })
const problem = z.strictObject({ projectRoot: z.string(), message: z.string() })

/** Of one project, or of all that are registered. */
const wanted = z.strictObject({ rule, project: values.project.optional() })

const plan = z.strictObject({
  ...amount.shape,
  projects: z.array(prunedProject),
  /** When the oldest and the newest of them were last written to. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  inUse: amount.describe('Past the limit, but kept: an agent or an unfinished turn needs them.'),
  problems: z.array(problem),
})

/** What Chirality keeps on the disk. */
export const dataCalls = {
  use: {
    output: z.strictObject({
      rule,
      projects: z.array(
        z.strictObject({
          ...{ projectRoot: z.string(), name: z.string() },
          bytes: z.strictObject({
            ...{ events: z.number(), rawLogs: z.number(), turnTrees: z.number() },
            ...{ worktrees: z.number(), other: z.number() },
          }),
        }),
      ),
    }),
  },
  setRule: { input: z.strictObject({ rule }), output: z.strictObject({ rule }) },
  /** What `prune` would delete now. */
  plan: { input: wanted, output: plan },
  prune: {
    input: wanted,
    output: z.strictObject({
      ...amount.shape,
      projects: z.array(prunedProject),
      problems: z.array(problem),
    }),
  },
}
