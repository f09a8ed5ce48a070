import { arch, platform } from 'node:os'
import { CALLS } from '../contract/calls.ts'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { callError } from '../errors/call-error.ts'
import { LINK_MINUTES } from '../guard/keys.ts'
import { endProcess, sessionOfMarker, sessionProcesses } from '../system/session-processes.ts'
import { storedSession } from './live-session.ts'
import { ask, call, router } from './trpc.ts'

export const systemRouter = router({
  info: ask(CALLS.system.info).query(({ ctx }) => ({
    version: ctx.facts.version,
    node: process.version,
    platform: platform(),
    arch: arch(),
    pid: process.pid,
    startedAt: ctx.facts.startedAt,
    address: ctx.facts.address(),
    demo: ctx.facts.demo,
  })),

  health: ask(CALLS.system.health).query(({ ctx }) => ({
    uptimeS: Math.round(process.uptime()),
    rssBytes: process.memoryUsage.rss(),
    sockets: ctx.facts.sockets(),
    connections: ctx.facts.connections(),
    openProjects: ctx.host.projects().length,
    openSessions: ctx.host.statuses().length,
    runningTurns: ctx.host.statuses().filter(({ phase }) => phase !== 'idle').length,
    pendingDecisions: ctx.host.decisions.pending().length,
  })),

  /** The processes of agents, and everything they started, by session. */
  processes: call(CALLS.system.processes).query(async ({ ctx, input }) => {
    if (input?.sessionId !== undefined) await storedSession(ctx, input.sessionId)
    const registered = new Set((await ctx.projects.list()).map(({ root }) => root))
    return sessionProcesses(
      ctx.host,
      ({ sessionId, projectRoot }) =>
        registered.has(projectRoot) && (input?.sessionId === undefined || input.sessionId === sessionId),
    )
  }),

  /** Ends a process that the agent of a session started. The agent itself is ended by `turns.kill`. */
  endProcess: call(CALLS.system.endProcess).mutation(async ({ ctx, input }) => {
    await storedSession(ctx, input.sessionId)
    return endProcess(ctx.host, input.sessionId, input)
  }),

  /** A link that signs one more browser in, once, within some minutes. */
  newSignInLink: ask(CALLS.system.newSignInLink).mutation(({ ctx }) => ({
    url: ctx.facts.newSignInLink(),
    minutes: LINK_MINUTES,
    reach: ctx.facts.reach(),
  })),

  /** A token with which a program lists, starts and reads the sessions of one project, through MCP. */
  newProgramToken: call(CALLS.system.newProgramToken).mutation(async ({ ctx, input }) => {
    const projectRoot = await ctx.projects.require(input.project)
    const sessionId = await sessionOfMarker(ctx.host, input.marker)
    const caller = sessionId === null ? undefined : await storedSession(ctx, sessionId)
    if (caller !== undefined && caller.projectRoot !== projectRoot)
      throw callError('not-found', 'An agent can use the sessions of its own project only.')
    const token = ctx.programs.newToken({ projectRoot, sessionId })
    return { url: `${ctx.facts.address()}${ENDPOINTS.mcp.path}`, token }
  }),

  /** The signed-in browsers, the most recently seen first. */
  browsers: ask(CALLS.system.browsers).query(async ({ ctx }) =>
    (await ctx.browsers.list()).map(browser => ({ ...browser, isCaller: browser.id === ctx.browser })),
  ),

  /** For a push subscription of the calling browser, and what it asked for. */
  push: ask(CALLS.system.push).query(({ ctx }) => ctx.push.state(ctx.browser)),

  /** Messages through the push service of the calling browser, until it is signed out. */
  subscribePush: call(CALLS.system.subscribePush).mutation(async ({ ctx, input }) => {
    await ctx.push.subscribe(ctx.browser, input)
    return { show: input.show }
  }),

  unsubscribePush: ask(CALLS.system.unsubscribePush).mutation(async ({ ctx }) => {
    await ctx.push.unsubscribe(ctx.browser)
    return { show: null }
  }),

  /** Signs a browser out, and closes its connections. */
  revokeBrowser: call(CALLS.system.revokeBrowser).mutation(async ({ ctx, input }) => {
    await ctx.push.unsubscribe(input.id)
    return { revoked: await ctx.browsers.revoke(input.id) }
  }),
})
