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
import { z } from 'zod'
import { eachSession, mutation, query } from '../call.ts'
import { toCallError } from '../errors.ts'
import { searchMirrors, withMirrored } from '../machines/mirrored.ts'
import { remoteSessions } from '../machines.ts'
import { UNDO_SECONDS } from '../sessions/discarded-sessions.ts'
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
} from '../sessions/live-session.ts'
import { envelope } from '../shapes/events.ts'
import * as answers from '../shapes/sessions.ts'
import * as values from '../shapes/values.ts'

const { bySession, nothing, project, sessionId } = values
const seq = z.int().nonnegative()
const nativePlace = z.string().max(250).optional()
const pageBytes = z
  .int()
  .positive()
  .max(1024 * 1024)
  .optional()
/** Longer than any character. */
const MIN_PIECE_BYTES = 16
const MAX_PIECE_BYTES = 8 * 1024 * 1024
const forked = { sessionId, atSeq: seq.optional() }

export const sessionCalls = {
  create: mutation({
    about: 'Makes a session, on this machine if none is named.',
    input: values.newSession.extend({ machine: values.machineName.optional() }),
    output: answers.sessionRecord,
    where: 'named',
    run: createSession,
  }),

  list: query({
    about: 'Lists sessions, newest first, of all registered projects if none is named.',
    input: z
      .strictObject({
        project: project.optional(),
        limit: z.int().positive().max(1000).optional(),
        cursor: z.string().max(100).optional(),
      })
      .optional(),
    output: answers.sessionPage,
    run: (centre, input) => {
      const { project: projectRoot, ...page } = input ?? {}
      return shownSessions(centre, { ...page, projectRoot })
    },
  }),

  usage: query({
    about: 'Tells cost and tokens over time, of all registered projects if none is named.',
    input: z.strictObject({
      timeZone: values.timeZone,
      project: project.optional(),
      days: z.int().positive().max(90).describe('The last days, with today; 1 is by hours.'),
    }),
    output: answers.usageReport,
    run: async (centre, { project: one, ...period }) => {
      const registered = (await centre.projects.list()).map(({ root }) => root)
      const projectRoots = one === undefined ? registered : [await centre.projects.require(one)]
      // A project is a folder of this machine.
      const others = one === undefined ? remoteSessions(centre.machines) : []
      return usageReport(centre.host, { ...period, projectRoots, others })
    },
  }),

  readMarks: query({
    about: 'Gives the number of the last read event of each session, in any browser of the user.',
    output: z.record(z.string(), z.number()),
    run: ({ readMarks }) => readMarks.all(),
  }),

  markRead: mutation({
    about: 'Stores how far the user has read a session.',
    input: z.strictObject({ sessionId, seq }),
    output: nothing,
    where: 'mirror',
    run: ({ readMarks }, input) => readMarks.raise(input.sessionId, input.seq),
  }),

  get: query({
    about: 'Gives a session with its current state.',
    input: bySession,
    output: answers.sessionRecord,
    where: 'mirror',
    run: (centre, input) => shownSession(centre, input.sessionId),
  }),

  history: query({
    about: 'Gives events before a number, oldest first, for a reader who scrolls back.',
    input: z.strictObject({
      sessionId,
      before: seq.optional(),
      maxBytes: pageBytes,
      limit: z.int().positive().max(2000).optional(),
    }),
    output: z.array(envelope),
    where: 'mirror',
    run: async (centre, input) => {
      const page = await withLog(centre, input.sessionId, log =>
        log.readBefore(input.before ?? log.lastSeq + 1, input.limit ?? DEFAULT_HISTORY),
      )
      return input.maxBytes === undefined ? page : lastWithin(page, input.maxBytes)
    },
  }),

  nativeLines: query({
    about:
      'Gives the raw output of the agent, line by line: the last lines, or those before or after a position.',
    input: z
      .strictObject({ sessionId, before: nativePlace, after: nativePlace, maxBytes: pageBytes })
      .refine(({ before, after }) => before === undefined || after === undefined, {
        error: 'takes `before` or `after`, not both',
      }),
    output: answers.nativePage,
    where: 'owner',
    run: async (centre, { sessionId: id, ...options }) => {
      const { projectRoot } = await storedSession(centre, id)
      return readNativeLines(projectRoot, id, options)
    },
  }),

  nativeLine: query({
    about: 'Gives the text of one line of raw output: whole, or in pieces if it is very long.',
    input: z.strictObject({
      sessionId,
      id: z.string().max(250),
      from: seq.optional(),
      maxBytes: z.int().min(MIN_PIECE_BYTES).max(MAX_PIECE_BYTES).optional(),
    }),
    output: answers.nativeText,
    where: 'owner',
    run: async (centre, { sessionId: id, ...line }) => {
      const { projectRoot } = await storedSession(centre, id)
      return readNativeLine(projectRoot, id, line)
    },
  }),

  images: query({
    about: 'Gives the images that came with the message of a turn.',
    input: z.strictObject({ sessionId, turnId: z.string().min(1).max(64) }),
    output: z.array(z.strictObject({ mediaType: z.string(), data: z.string() })),
    where: 'owner',
    run: async (centre, input) => {
      const { projectRoot } = await storedSession(centre, input.sessionId)
      return new TurnImages(projectRoot, input.sessionId).read(input.turnId)
    },
  }),

  rename: mutation({
    about: 'Gives a session another title.',
    input: z.strictObject({ sessionId, title: values.title }),
    output: answers.sessionRecord,
    where: 'owner',
    run: async (centre, input) => {
      await storedSession(centre, input.sessionId)
      return centre.host.renameSession(input.sessionId, input.title)
    },
  }),

  configure: mutation({
    about: 'Sets what the next turns run with. A running turn goes on as it began.',
    input: z.strictObject({
      sessionId,
      model: values.model.optional(),
      mode: values.mode.optional(),
      thinking: values.thinking.nullish(),
      maxTurns: values.maxTurns.nullish(),
    }),
    output: answers.sessionRecord,
    where: 'owner',
    run: async (centre, { sessionId: id, ...changes }) => (await liveSession(centre, id)).configure(changes),
  }),

  shelve: eachSession({
    about: 'Puts sessions on top of the lists (`pinned`), out of them (`archived`), or back.',
    input: values.severalSessions.extend({ shelf: values.shelf }),
    output: answers.severalDone,
    adds: {},
    one: async (centre, id, { shelf }) => {
      await storedSession(centre, id)
      await centre.host.shelveSession(id, shelf)
    },
  }),

  discard: eachSession({
    about:
      'Stops the work of sessions and takes them out of every list. Their files are deleted after a minute.',
    input: values.severalSessions,
    output: answers.severalDone.extend({
      undoSeconds: z.number().describe('`restore` brings those of `done` back so long.'),
    }),
    adds: { undoSeconds: UNDO_SECONDS },
    one: discardSession,
  }),

  restore: eachSession({
    about: 'Brings discarded sessions back.',
    input: values.severalSessions,
    output: answers.severalDone,
    adds: {},
    one: restoreSession,
  }),

  delete: mutation({
    about: 'Stops the work of a session and deletes all its files.',
    input: bySession,
    output: nothing,
    where: 'owner',
    run: (centre, input) => deleteSession(centre, input.sessionId),
  }),

  fork: mutation({
    about: 'Makes a session with the same history, up to an event.',
    input: z.strictObject({ ...forked, title: values.title.optional() }),
    output: answers.sessionRecord,
    where: 'owner',
    makes: session => session,
    run: async (centre, { sessionId: id, ...options }) => {
      const { worktree } = await storedSession(centre, id)
      if (worktree === null) return centre.host.forkSession(id, options)
      return forkInWorktree(centre.host, await liveSession(centre, id), options)
    },
  }),

  forkHistory: query({
    about: 'Tells what the agent of such a fork would know of the conversation.',
    input: z.strictObject(forked),
    output: answers.forkHistory,
    where: 'owner',
    run: async (centre, { sessionId: id, ...options }) => {
      await storedSession(centre, id)
      return centre.host.forkHistory(id, options)
    },
  }),

  native: query({
    about:
      'Lists conversations that agents store themselves, also those that were started without Chirality.',
    input: z.strictObject({ project, harness: values.harnessId.optional() }),
    output: answers.nativeSessions,
    run: async ({ harnesses, projects }, input) => {
      const cwd = await projects.require(input.project)
      if (input.harness !== undefined) {
        const sessions = await harnesses.getOrThrow(input.harness).listNativeSessions?.({ cwd })
        return { sessions: sessions ?? [], faults: [] }
      }
      const keepers = harnesses.getAll().filter(harness => harness.meta().nativeSessions === harness.id)
      const lists = await Promise.allSettled(keepers.map(keeper => keeper.listNativeSessions?.({ cwd })))
      const sessions = lists.flatMap(list => (list.status === 'fulfilled' ? (list.value ?? []) : []))
      // An agent that cannot be asked now keeps nobody from the conversations of the others.
      const faults = lists.flatMap((list, at) =>
        list.status === 'rejected'
          ? [{ harness: keepers[at]?.id ?? '', message: toCallError(list.reason).message }]
          : [],
      )
      return { sessions: sessions.sort(byNewest), faults }
    },
  }),

  import: mutation({
    about: 'Makes a session of a conversation that an agent stored itself.',
    input: z.strictObject({
      project,
      harness: values.harnessId,
      nativeSessionId: z.string().min(1).max(200),
    }),
    output: answers.sessionRecord,
    run: async ({ host, projects }, input) =>
      host.importSession(input.harness, input.nativeSessionId, await projects.require(input.project)),
  }),

  export: query({
    about:
      'Gives the events as NDJSON, in parts: `next` is the next position, null at the end. A route exports other formats.',
    input: z.strictObject({ sessionId, format: z.literal('ndjson'), after: seq.optional() }),
    output: answers.exportPage,
    where: 'mirror',
    run: (centre, input) => withLog(centre, input.sessionId, log => exportPage(log, input.after ?? 0)),
  }),

  search: query({
    about: 'Searches messages and tool calls, newest first.',
    input: z.strictObject({
      query: z.string().min(1).max(1000),
      project: project.optional(),
      limit: z.int().positive().max(500).optional(),
    }),
    output: answers.searchResult,
    run: async (centre, input, { signal }) => {
      const { discarded, home, machines, projects } = centre
      const wanted = { query: input.query, limit: input.limit, signal, home }
      const projectRoot = input.project === undefined ? undefined : await projects.require(input.project)
      const found = await searchSessions({ ...wanted, projectRoot })
      const registered = new Set((await projects.list()).map(entry => entry.root))
      const isShown = (hit: (typeof found.hits)[number]) =>
        registered.has(hit.projectRoot) && !discarded.has(hit.sessionId)
      const own = { ...found, hits: found.hits.filter(isShown) }
      if (machines === undefined || projectRoot !== undefined) return own
      return withMirrored(own, await searchMirrors(machines, wanted), input.limit)
    },
  }),
}

const DEFAULT_HISTORY = 500

/** The last ones that fit, and at least one: otherwise the next page would never advance. */
function lastWithin(envelopes: Envelope[], maxBytes: number): Envelope[] {
  let bytes = 0
  const tooMany = envelopes.findLastIndex(one => {
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1
    return bytes > maxBytes
  })
  return envelopes.slice(Math.min(tooMany + 1, envelopes.length - 1))
}

export type ExportPage = z.infer<typeof answers.exportPage>

/** A part of a session's events, one envelope for each line. */
function exportPage(log: Pick<SessionLog, 'lastSeq' | 'readAfter'>, after: number): ExportPage {
  const envelopes = log.readAfter(after, MAX_EVENTS, { maxBytes: MAX_BYTES })
  const text = envelopes.map(one => `${JSON.stringify(one)}\n`).join('')
  const last = envelopes.at(-1)?.seq
  return { text, next: last === undefined || last >= log.lastSeq ? null : last }
}

const MAX_EVENTS = 20_000
const MAX_BYTES = 4 * 1024 * 1024
