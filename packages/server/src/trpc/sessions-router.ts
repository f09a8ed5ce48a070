import { byNewest, type Envelope } from '@chirality/core'
import {
  forkInWorktree,
  readNativeLine,
  readNativeLines,
  type SessionLog,
  searchSessions,
  TurnImages,
  usageReport,
} from '@chirality/sessions'
import type { z } from 'zod'
import { CALLS } from '../contract/calls.ts'
import { toCallError } from '../errors/to-call-error.ts'
import { remoteSessions } from '../fleet/fleet-service.ts'
import { searchMirrors, withMirrored } from '../fleet/mirrored.ts'
import { onEachMachine } from '../fleet/several.ts'
import { UNDO_SECONDS } from './discarded-sessions.ts'
import {
  createSession,
  deleteSession,
  discardSession,
  liveSession,
  restoreSession,
  shownSession,
  shownSessions,
  storedSession,
  withLog,
} from './live-session.ts'
import { ask, call, router } from './trpc.ts'

export const sessionsRouter = router({
  create: call(CALLS.sessions.create).mutation(({ ctx, input }) => createSession(ctx, input)),

  /** Newest first; of all registered projects if none is named. */
  list: call(CALLS.sessions.list).query(async ({ ctx, input }) => {
    const { project: projectRoot, ...page } = input ?? {}
    return shownSessions(ctx, { ...page, projectRoot })
  }),

  /** Cost and tokens over time, of all registered projects if none is named. */
  usage: call(CALLS.sessions.usage).query(async ({ ctx, input }) => {
    const { project, ...period } = input
    const registered = (await ctx.projects.list()).map(({ root }) => root)
    const projectRoots = project === undefined ? registered : [await ctx.projects.require(project)]
    // A project is a folder of this machine.
    const others = project === undefined ? remoteSessions(ctx.fleet) : []
    return usageReport(ctx.host, { ...period, projectRoots, others })
  }),

  /** The last read event of each session, in any browser of the user. */
  readMarks: ask(CALLS.sessions.readMarks).query(({ ctx }) => ctx.readMarks.all()),

  markRead: call(CALLS.sessions.markRead).mutation(({ ctx, input }) =>
    ctx.readMarks.raise(input.sessionId, input.seq),
  ),

  get: call(CALLS.sessions.get).query(({ ctx, input }) => shownSession(ctx, input.sessionId)),

  /** Events before a number, oldest first: for a reader who scrolls back. */
  history: call(CALLS.sessions.history).query(async ({ ctx, input }) => {
    const page = await withLog(ctx, input.sessionId, log =>
      log.readBefore(input.before ?? log.lastSeq + 1, input.limit ?? DEFAULT_HISTORY),
    )
    return input.maxBytes === undefined ? page : lastWithin(page, input.maxBytes)
  }),

  /** The agent's raw output, line by line: the last lines, or those before or after a position. */
  nativeLines: call(CALLS.sessions.nativeLines).query(async ({ ctx, input }) => {
    const { sessionId: id, ...options } = input
    const { projectRoot } = await storedSession(ctx, id)
    return readNativeLines(projectRoot, id, options)
  }),

  /** The text of one of these lines, whole, or in pieces if it is very long. */
  nativeLine: call(CALLS.sessions.nativeLine).query(async ({ ctx, input }) => {
    const { sessionId: id, ...line } = input
    const { projectRoot } = await storedSession(ctx, id)
    return readNativeLine(projectRoot, id, line)
  }),

  /** The images that came with the message of a turn. */
  images: call(CALLS.sessions.images).query(async ({ ctx, input }) => {
    const { projectRoot } = await storedSession(ctx, input.sessionId)
    return new TurnImages(projectRoot, input.sessionId).read(input.turnId)
  }),

  rename: call(CALLS.sessions.rename).mutation(async ({ ctx, input }) => {
    await storedSession(ctx, input.sessionId)
    return ctx.host.renameSession(input.sessionId, input.title)
  }),

  /** What the next turns run with. A running turn goes on as it began. */
  configure: call(CALLS.sessions.configure).mutation(async ({ ctx, input }) => {
    const { sessionId: id, ...changes } = input
    return (await liveSession(ctx, id)).configure(changes)
  }),

  /** Puts sessions on top of the lists (`pinned`), out of them (`archived`), or back. */
  shelve: call(CALLS.sessions.shelve).mutation(({ ctx, input }) =>
    onEachMachine(ctx, { path: 'sessions.shelve', input }, async id => {
      await storedSession(ctx, id)
      await ctx.host.shelveSession(id, input.shelf)
    }),
  ),

  /** Stops the sessions' work and takes them out of every list. Their files are deleted after a minute. */
  discard: call(CALLS.sessions.discard).mutation(async ({ ctx, input }) => {
    const several = { path: 'sessions.discard', input } as const
    const outcome = await onEachMachine(ctx, several, id => discardSession(ctx, id))
    return { ...outcome, undoSeconds: UNDO_SECONDS }
  }),

  /** Brings discarded sessions back. */
  restore: call(CALLS.sessions.restore).mutation(({ ctx, input }) =>
    onEachMachine(ctx, { path: 'sessions.restore', input }, id => restoreSession(ctx, id)),
  ),

  /** Stops the session's work and deletes all its files. */
  delete: call(CALLS.sessions.delete).mutation(({ ctx, input }) => deleteSession(ctx, input.sessionId)),

  /** A new session with the same history, up to an event. */
  fork: call(CALLS.sessions.fork).mutation(async ({ ctx, input }) => {
    const { sessionId: id, ...options } = input
    const { worktree } = await storedSession(ctx, id)
    if (worktree === null) return ctx.host.forkSession(id, options)
    return forkInWorktree(ctx.host, await liveSession(ctx, id), options)
  }),

  /** What the agent of such a fork would get. */
  forkHistory: call(CALLS.sessions.forkHistory).query(async ({ ctx, input }) => {
    const { sessionId: id, ...options } = input
    await storedSession(ctx, id)
    return ctx.host.forkHistory(id, options)
  }),

  /** Conversations that an agent stores itself, also those that were started without Chirality. */
  native: call(CALLS.sessions.native).query(async ({ ctx, input }) => {
    const cwd = await ctx.projects.require(input.project)
    if (input.harness !== undefined) {
      const sessions = await ctx.harnesses.getOrThrow(input.harness).listNativeSessions?.({ cwd })
      return { sessions: sessions ?? [], faults: [] }
    }
    const keepers = ctx.harnesses.getAll().filter(harness => harness.meta().nativeSessions === harness.id)
    const lists = await Promise.allSettled(keepers.map(keeper => keeper.listNativeSessions?.({ cwd })))
    const sessions = lists.flatMap(list => (list.status === 'fulfilled' ? (list.value ?? []) : []))
    // An agent that cannot be asked now keeps nobody from the conversations of the others.
    const faults = lists.flatMap((list, at) =>
      list.status === 'rejected'
        ? [{ harness: keepers[at]?.id ?? '', message: toCallError(list.reason).message }]
        : [],
    )
    return { sessions: sessions.sort(byNewest), faults }
  }),

  import: call(CALLS.sessions.import).mutation(async ({ ctx, input }) => {
    const cwd = await ctx.projects.require(input.project)
    return ctx.host.importSession(input.harness, input.nativeSessionId, cwd)
  }),

  /** The events as NDJSON, in parts: `next` is the next position, null at the end. A route exports other formats. */
  export: call(CALLS.sessions.export).query(async ({ ctx, input }) => {
    return withLog(ctx, input.sessionId, log => exportPage(log, input.after ?? 0))
  }),

  /** Searches messages and tool calls, newest first. */
  search: call(CALLS.sessions.search).query(async ({ ctx, input, signal }) => {
    const { query, limit } = input
    const projectRoot = input.project === undefined ? undefined : await ctx.projects.require(input.project)
    const found = await searchSessions({ query, limit, projectRoot, signal, home: ctx.facts.home })
    const registered = new Set((await ctx.projects.list()).map(entry => entry.root))
    const isShown = (hit: (typeof found.hits)[number]) =>
      registered.has(hit.projectRoot) && !ctx.discarded.has(hit.sessionId)
    const own = { ...found, hits: found.hits.filter(isShown) }
    if (ctx.fleet === undefined || projectRoot !== undefined) return own
    return withMirrored(
      own,
      await searchMirrors(ctx.fleet, { query, limit, signal, home: ctx.facts.home }),
      limit,
    )
  }),
})

const DEFAULT_HISTORY = 500
/** The last ones that fit, and at least one: otherwise the next page would never advance. */
function lastWithin(envelopes: Envelope[], maxBytes: number): Envelope[] {
  let bytes = 0
  const tooMany = envelopes.findLastIndex(envelope => {
    bytes += Buffer.byteLength(JSON.stringify(envelope)) + 1
    return bytes > maxBytes
  })
  return envelopes.slice(Math.min(tooMany + 1, envelopes.length - 1))
}

export type ExportPage = z.infer<typeof CALLS.sessions.export.output>

/** A part of a session's events, one envelope for each line. */
function exportPage(log: Pick<SessionLog, 'lastSeq' | 'readAfter'>, after: number): ExportPage {
  const envelopes = log.readAfter(after, MAX_EVENTS, { maxBytes: MAX_BYTES })
  const text = envelopes.map(envelope => `${JSON.stringify(envelope)}\n`).join('')
  const last = envelopes.at(-1)?.seq
  return { text, next: last === undefined || last >= log.lastSeq ? null : last }
}

const MAX_EVENTS = 20_000
const MAX_BYTES = 4 * 1024 * 1024
