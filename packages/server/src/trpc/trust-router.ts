import type { ProjectTrustState } from '@chirality/sessions'
import { z } from 'zod'
import { byProject, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

/** What a project brings for its agents to run, as it is shown to the one who decides about it. */
export interface ShownTrust extends Pick<ProjectTrustState, 'fingerprint' | 'isTrusted' | 'problem'> {
  files: { path: string; bytes: number; text: string }[]
}

export const trustInput = z.strictObject({
  project,
  /** Of the files that were shown: others are not agreed to. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/, 'must be the fingerprint of the files that were shown'),
})

export const trustRouter = router({
  get: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<ShownTrust> =>
        shown(await ctx.host.trust.state(await ctx.projects.require(input.project))),
    ),

  /** From now on agents use these files, until one of them changes. */
  allow: procedure.input(trustInput).mutation(async ({ ctx, input }): Promise<ShownTrust> => {
    const root = await ctx.projects.require(input.project)
    return shown(await ctx.host.trust.allow(root, input.fingerprint))
  }),

  revoke: procedure
    .input(byProject)
    .mutation(
      async ({ ctx, input }): Promise<ShownTrust> =>
        shown(await ctx.host.trust.revoke(await ctx.projects.require(input.project))),
    ),
})

export function shown({ files, ...state }: ProjectTrustState): ShownTrust {
  const texts = files.map(({ path, content }) => ({
    path,
    bytes: content.length,
    text: new TextDecoder().decode(content),
  }))
  return { ...state, files: texts }
}
