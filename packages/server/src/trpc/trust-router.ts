import type { ProjectTrustState } from '@chirality/sessions'
import type { z } from 'zod'
import type { shownTrust } from '../contract/answers.ts'
import { CALLS } from '../contract/calls.ts'
import { call, router } from './trpc.ts'

/** The project's files that agents would run, as they are shown to the user who decides. */
export type ShownTrust = z.infer<typeof shownTrust>

export const trustRouter = router({
  get: call(CALLS.trust.get).query(async ({ ctx, input }) =>
    shown(await ctx.host.trust.state(await ctx.projects.require(input.project))),
  ),

  /** From now on agents use these files, until one of them changes. */
  allow: call(CALLS.trust.allow).mutation(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    return shown(await ctx.host.trust.allow(root, input.fingerprint))
  }),

  revoke: call(CALLS.trust.revoke).mutation(async ({ ctx, input }) =>
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
