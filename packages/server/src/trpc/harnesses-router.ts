import type {
  HarnessCapabilities,
  HarnessInstallStatus,
  HarnessMeta,
  HarnessModel,
  SlashCommand,
} from '@chirality/core'
import { z } from 'zod'
import { harnessId, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

export interface HarnessInfo extends HarnessMeta {
  models: HarnessModel[]
  capabilities: HarnessCapabilities
  /** It runs what the files of a project say, once the user trusts them. */
  usesProjectFiles: boolean
}

export const harnessesRouter = router({
  list: procedure.query(({ ctx }): HarnessInfo[] =>
    ctx.harnesses.getAll().map(harness => ({
      ...harness.meta(),
      models: harness.models(),
      capabilities: harness.capabilities(),
      usesProjectFiles: harness.projectFiles !== undefined,
    })),
  ),

  /** What is installed and logged in, by harness. */
  status: procedure.query(async ({ ctx }): Promise<Record<string, HarnessInstallStatus>> => {
    return Object.fromEntries(await ctx.harnesses.checkAllInstallStatus())
  }),

  slashCommands: procedure
    .input(z.strictObject({ harness: harnessId, project }))
    .query(async ({ ctx, input, signal }): Promise<SlashCommand[]> => {
      const root = await ctx.projects.require(input.project)
      const { isTrusted: trustProject } = await ctx.host.trust.state(root)
      return ctx.harnesses.getOrThrow(input.harness).discoverSlashCommands(root, signal, { trustProject })
    }),
})
