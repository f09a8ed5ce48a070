import { arch, platform } from 'node:os'
import { z } from 'zod'
import { BROWSER_ID } from '../browsers/signed-in-browsers.ts'
import { LINK_MINUTES } from '../guard/keys.ts'
import { sessionProcesses } from '../system/session-processes.ts'
import { sessionId } from './inputs.ts'
import { procedure, router } from './trpc.ts'

export const systemRouter = router({
  info: procedure.query(({ ctx }) => ({
    version: ctx.facts.version,
    node: process.version,
    platform: platform(),
    arch: arch(),
    pid: process.pid,
    startedAt: ctx.facts.startedAt,
    address: ctx.facts.address(),
    demo: ctx.facts.demo,
  })),

  health: procedure.query(({ ctx }) => ({
    uptimeS: Math.round(process.uptime()),
    rssBytes: process.memoryUsage.rss(),
    sockets: ctx.facts.sockets(),
    connections: ctx.facts.connections(),
    openProjects: ctx.host.projects().length,
    openSessions: ctx.host.statuses().length,
    runningTurns: ctx.host.statuses().filter(({ phase }) => phase !== 'idle').length,
    pendingDecisions: ctx.host.decisions.pending().length,
  })),

  /** The processes of agents, and of all that they started, by session. */
  processes: procedure
    .input(z.strictObject({ sessionId: sessionId.optional() }).optional())
    .query(({ ctx, input }) => sessionProcesses(ctx.host, input?.sessionId)),

  /** A link that signs one more browser in, once, within some minutes. */
  newSignInLink: procedure.mutation(({ ctx }) => ({
    url: ctx.facts.newSignInLink(),
    minutes: LINK_MINUTES,
  })),

  /** The browsers that are signed in, the one seen last first. */
  browsers: procedure.query(({ ctx }) => ctx.browsers.list()),

  /** Signs a browser out, and ends what it has open. */
  revokeBrowser: procedure
    .input(z.strictObject({ id: z.string().regex(BROWSER_ID) }))
    .mutation(async ({ ctx, input }) => ({ revoked: await ctx.browsers.revoke(input.id) })),
})
