import { arch, platform } from 'node:os'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { callError } from '../errors.ts'
import { PUSH_DETAILS } from '../push/push-service.ts'
import { storedSession } from '../sessions/live-session.ts'
import { demo, processesShape, signedInBrowser } from '../shapes/sessions.ts'
import { browserId, ofSession, project, sessionId } from '../shapes/values.ts'
import { endProcess, sessionOfMarker, sessionProcesses } from '../system/session-processes.ts'

const count = z.number()

export const systemCalls = {
  info: query({
    about: 'Tells what this server is: its version, process, address and demo.',
    output: z.strictObject({
      version: z.string(),
      node: z.string(),
      platform: z.string(),
      arch: z.string(),
      pid: z.int(),
      startedAt: z.string(),
      address: z.string(),
      demo: demo.nullable(),
    }),
    run: ({ version, startedAt, entrance, demo: shown }) => ({
      version,
      node: process.version,
      platform: platform(),
      arch: arch(),
      pid: process.pid,
      startedAt,
      address: entrance.address,
      demo: shown,
    }),
  }),

  health: query({
    about: 'Tells how much this server holds and how much work it has.',
    output: z.strictObject({
      uptimeS: count,
      rssBytes: count,
      sockets: count,
      connections: count,
      openProjects: count,
      openSessions: count,
      runningTurns: count,
      pendingDecisions: count,
    }),
    run: ({ entrance, host }) => ({
      uptimeS: Math.round(process.uptime()),
      rssBytes: process.memoryUsage.rss(),
      sockets: entrance.sockets(),
      connections: entrance.connections(),
      openProjects: host.projects().length,
      openSessions: host.statuses().length,
      runningTurns: host.statuses().filter(({ phase }) => phase !== 'idle').length,
      pendingDecisions: host.decisions.pending().length,
    }),
  }),

  processes: query({
    about: 'Lists the processes of agents, and everything that they started, by session.',
    input: ofSession,
    output: z.array(processesShape),
    where: 'here',
    run: async (centre, input) => {
      if (input?.sessionId !== undefined) await storedSession(centre, input.sessionId)
      const registered = new Set((await centre.projects.list()).map(({ root }) => root))
      return sessionProcesses(
        centre.host,
        ({ sessionId: id, projectRoot }) =>
          registered.has(projectRoot) && (input?.sessionId === undefined || input.sessionId === id),
      )
    },
  }),

  endProcess: mutation({
    about: 'Ends a process that the agent of a session started. The agent itself is ended by `turns.kill`.',
    input: z.strictObject({ sessionId, pid: z.int().positive(), startedAt: z.string().min(1).max(64) }),
    output: z.strictObject({ ended: count, left: count }),
    where: 'here',
    run: async (centre, input) => {
      await storedSession(centre, input.sessionId)
      return endProcess(centre.host, input.sessionId, input)
    },
  }),

  newSignInLink: mutation({
    about: 'Makes a link that signs one more browser in, once, within some minutes.',
    output: z.strictObject({
      url: z.string(),
      minutes: z.number(),
      reach: z.enum(['this-machine', 'network']),
    }),
    run: ({ entrance }) => entrance.newSignInLink(),
  }),

  newProgramToken: mutation({
    about:
      'Makes a token with which a program lists, starts and reads the sessions of one project, through MCP.',
    input: z.strictObject({
      project,
      marker: z
        .string()
        .max(4096)
        .optional()
        .describe('The variable CHIRALITY_RUN of the program: an agent that runs it passes it on.'),
    }),
    output: z.strictObject({ url: z.string(), token: z.string() }),
    run: async (centre, input) => {
      const projectRoot = await centre.projects.require(input.project)
      const id = await sessionOfMarker(centre.host, input.marker)
      const caller = id === null ? undefined : await storedSession(centre, id)
      if (caller !== undefined && caller.projectRoot !== projectRoot)
        throw callError('not-found', 'An agent can use the sessions of its own project only.')
      return centre.entrance.newProgramToken({ projectRoot, sessionId: id })
    },
  }),

  browsers: query({
    about: 'Lists the signed-in browsers, the most recently seen first.',
    output: z.array(signedInBrowser.extend({ isCaller: z.boolean() })),
    run: async ({ entrance }, _, { browser: caller }) =>
      (await entrance.browsers()).map(browser => ({ ...browser, isCaller: browser.id === caller })),
  }),

  push: query({
    about: 'Gives the key for a push subscription of the calling browser, and what the browser asked for.',
    output: z.strictObject({ publicKey: z.string(), show: z.enum(PUSH_DETAILS).nullable() }),
    run: ({ push }, _, { browser }) => push.state(browser),
  }),

  subscribePush: mutation({
    about: 'Sends messages through the push service of the calling browser, until it is signed out.',
    input: z.strictObject({
      endpoint: z.url().max(2048),
      keys: z.strictObject({ p256dh: z.string().max(128), auth: z.string().max(64) }),
      show: z.enum(PUSH_DETAILS),
    }),
    output: z.strictObject({ show: z.enum(PUSH_DETAILS) }),
    run: async ({ push }, input, { browser }) => {
      await push.subscribe(browser, input)
      return { show: input.show }
    },
  }),

  unsubscribePush: mutation({
    about: 'Ends the messages to the calling browser.',
    output: z.strictObject({ show: z.null() }),
    run: async ({ push }, _, { browser }) => {
      await push.unsubscribe(browser)
      return { show: null }
    },
  }),

  revokeBrowser: mutation({
    about: 'Signs a browser out, and closes its connections.',
    input: z.strictObject({ id: browserId }),
    output: z.strictObject({ revoked: z.boolean() }),
    run: async ({ entrance, push }, input) => {
      await push.unsubscribe(input.id)
      return { revoked: await entrance.revokeBrowser(input.id) }
    },
  }),
}
