import { z } from 'zod'
import { isMachineName } from './subjects.ts'

const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER)

/** What a machine spent on a project, by the name that the project has on every machine. */
const projectSpent = z.object({
  key: z.string().max(1000),
  ...{ usd: amount.nullable(), tokens: amount, unpricedTokens: amount, ms: amount, turns: amount },
})
export type ProjectSpent = z.infer<typeof projectSpent>

export const spentList = z.array(projectSpent).max(10_000)

/** What a hub tells a machine of the others. */
export const toldSpending = z
  .array(
    z.object({
      machine: z.string().refine(isMachineName),
      /** Since the hub heard it. Null: before it listened. */
      ageMs: amount.nullable(),
      spent: spentList,
    }),
  )
  .max(10_000)
export type ToldSpending = z.infer<typeof toldSpending>
