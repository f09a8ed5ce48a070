import { CALLS } from '../contract/calls.ts'
import { ask, call, router } from './trpc.ts'

export const harnessesRouter = router({
  list: ask(CALLS.harnesses.list).query(({ ctx }) =>
    ctx.harnesses.getAll().map(harness => ({
      ...harness.meta(),
      models: harness.models(),
      capabilities: harness.capabilities(),
      usesProjectFiles: harness.projectFiles !== undefined,
    })),
  ),

  /** Whether each harness is installed and logged in. */
  status: ask(CALLS.harnesses.status).query(async ({ ctx }) => {
    return Object.fromEntries(await ctx.harnesses.checkAllInstallStatus())
  }),

  slashCommands: call(CALLS.harnesses.slashCommands).query(async ({ ctx, input, signal }) => {
    const root = await ctx.projects.require(input.project)
    const { isTrusted: trustProject } = await ctx.host.trust.state(root)
    return ctx.harnesses.getOrThrow(input.harness).discoverSlashCommands(root, signal, { trustProject })
  }),
})
