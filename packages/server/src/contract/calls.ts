import { z } from 'zod'
import { PUSH_DETAILS } from '../push/push-service.ts'
import * as agents from './agent-answers.ts'
import { fleetCalls as fleet, harnessCalls as harnesses, ownAgentCalls as ownAgents } from './agent-calls.ts'
import * as answers from './answers.ts'
import { dataCalls as data } from './data-calls.ts'
import { envelope } from './events.ts'
import * as fileAnswers from './file-answers.ts'
import { loopCalls as loops } from './loop-calls.ts'
import { reviewCalls as review } from './review-calls.ts'
import { scheduleCalls as schedules } from './schedule-calls.ts'
import * as values from './values.ts'
import { worktreeCalls as worktrees } from './worktree-calls.ts'

// Every tRPC procedure with its input and output. Router, OpenAPI and tests read these; clients get their types from
// the router. `yields` is the output of a subscription; a procedure without `output` returns nothing.

const { bySession, byProject, project, sessionId } = values
const nothing = z.void()

const seq = z.int().nonnegative()
const byPersona = z.strictObject({ project, id: values.personaId })
/** The project's folder, or the worktree that a session of it works in. */
const byPlace = z.strictObject({ project, sessionId: sessionId.optional() })
const byPath = byPlace.extend({ path: values.relativePath })
const ofSession = z.strictObject({ sessionId: sessionId.optional() }).optional()

const projects = {
  list: { output: z.array(answers.projectInfo) },
  register: {
    input: z.strictObject({ path: project, name: z.string().min(1).max(100).optional() }),
    output: answers.projectInfo,
  },
  repositories: { output: z.array(z.string()) },
  folders: { input: z.strictObject({ typed: z.string().max(4096) }), output: z.array(z.string()) },
  open: { input: byProject, output: answers.projectReport },
  remove: { input: byProject, output: nothing },
}

/** The largest file that is read as a persona, in characters. */
const personaText = z.string().max(256 * 1024)
const personaRevision = z.string().regex(/^[0-9a-f]{64}$/, 'must be the revision of a file that was read')

const personas = {
  list: { input: byProject, output: z.array(agents.personaEntry) },
  get: { input: byPersona, output: agents.personaConfig },
  consent: { input: byPersona, output: agents.personaConsent },
  allow: { input: byPersona.extend({ fingerprint: z.string().max(200) }), output: nothing },
  revoke: { input: byPersona, output: nothing },
  prompt: {
    input: z.strictObject({ project, id: values.personaId.nullable(), mode: values.mode }),
    output: agents.composedPrompt,
  },
  source: { input: byPersona, output: agents.personaSource },
  /** A mutation only because a text is longer than an address may be: it writes nothing. */
  check: { input: byPersona.extend({ text: personaText, mode: values.mode }), output: agents.personaDraft },
  save: {
    input: byPersona.extend({ text: personaText, revision: personaRevision.nullable() }),
    output: agents.personaChange,
  },
  remove: { input: byPersona.extend({ revision: personaRevision }), output: agents.personaChange },
}

const nativePlace = z.string().max(250).optional()
const pageBytes = z
  .int()
  .positive()
  .max(1024 * 1024)
  .optional()
/** Longer than any character. */
const MIN_PIECE_BYTES = 16
const MAX_PIECE_BYTES = 8 * 1024 * 1024

const sessions = {
  create: {
    input: values.newSession.extend({ machine: values.machineName.optional() }),
    output: answers.storedSession,
  },
  list: {
    input: z
      .strictObject({
        project: project.optional(),
        limit: z.int().positive().max(1000).optional(),
        cursor: z.string().max(100).optional(),
      })
      .optional(),
    output: answers.sessionPage,
  },
  usage: {
    input: z.strictObject({
      ...{ timeZone: values.timeZone, project: project.optional() },
      days: z.int().positive().max(90).describe('The last days, with today; 1 is by hours.'),
    }),
    output: answers.usageReport,
  },
  readMarks: { output: z.record(z.string(), z.number()) },
  markRead: { input: z.strictObject({ sessionId, seq }), output: nothing },
  get: { input: bySession, output: answers.storedSession },
  history: {
    input: z.strictObject({
      ...{ sessionId, before: seq.optional(), maxBytes: pageBytes },
      limit: z.int().positive().max(2000).optional(),
    }),
    output: z.array(envelope),
  },
  nativeLines: {
    input: z
      .strictObject({ sessionId, before: nativePlace, after: nativePlace, maxBytes: pageBytes })
      .refine(({ before, after }) => before === undefined || after === undefined, {
        error: 'takes `before` or `after`, not both',
      }),
    output: answers.nativePage,
  },
  nativeLine: {
    input: z.strictObject({
      ...{ sessionId, id: z.string().max(250), from: seq.optional() },
      maxBytes: z.int().min(MIN_PIECE_BYTES).max(MAX_PIECE_BYTES).optional(),
    }),
    output: answers.nativeText,
  },
  images: {
    input: z.strictObject({ sessionId, turnId: z.string().min(1).max(64) }),
    output: z.array(z.strictObject({ mediaType: z.string(), data: z.string() })),
  },
  rename: { input: z.strictObject({ sessionId, title: values.title }), output: answers.storedSession },
  configure: {
    input: z.strictObject({
      ...{ sessionId, model: values.model.optional(), mode: values.mode.optional() },
      ...{ thinking: values.thinking.nullish(), maxTurns: values.maxTurns.nullish() },
    }),
    output: answers.storedSession,
  },
  shelve: { input: values.severalSessions.extend({ shelf: values.shelf }), output: answers.severalDone },
  discard: {
    input: values.severalSessions,
    output: answers.severalDone.extend({
      undoSeconds: z.number().describe('`restore` brings those of `done` back so long.'),
    }),
  },
  restore: { input: values.severalSessions, output: answers.severalDone },
  delete: { input: bySession, output: nothing },
  fork: {
    input: z.strictObject({ sessionId, atSeq: seq.optional(), title: values.title.optional() }),
    output: answers.storedSession,
  },
  forkHistory: {
    input: z.strictObject({ sessionId, atSeq: seq.optional() }),
    output: answers.forkHistory,
  },
  native: {
    input: z.strictObject({ project, harness: values.harnessId.optional() }),
    output: answers.nativeSessions,
  },
  import: {
    input: z.strictObject({
      ...{ project, harness: values.harnessId },
      nativeSessionId: z.string().min(1).max(200),
    }),
    output: answers.storedSession,
  },
  export: {
    input: z.strictObject({ sessionId, format: z.literal('ndjson'), after: seq.optional() }),
    output: answers.exportPage,
  },
  search: {
    input: z.strictObject({
      query: z.string().min(1).max(1000),
      project: project.optional(),
      limit: z.int().positive().max(500).optional(),
    }),
    output: answers.searchResult,
  },
}

const queueEntry = z.string().min(1).max(64)
const { queueState } = answers

const turns = {
  start: { input: values.turnInput, output: answers.startedTurn },
  send: { input: values.turnInput, output: answers.sentTurn },
  steer: { input: values.turnInput, output: answers.steeredTurn },
  interrupt: { input: bySession, output: nothing },
  kill: { input: bySession, output: nothing },
  leftovers: { input: bySession, output: answers.leftovers },
  prewarm: {
    input: z.strictObject({ sessionId, options: values.turnOptions.optional() }),
    output: nothing,
  },
  setPermissionMode: {
    input: z.strictObject({ sessionId, mode: values.permissionMode }),
    output: z.strictObject({ from: z.enum(['now', 'next-turn']) }),
  },
  contextUsage: { input: bySession, output: answers.contextRoom },
}

const queue = {
  list: { input: bySession, output: queueState },
  edit: {
    input: z.strictObject({ sessionId, id: queueEntry, message: values.message }),
    output: queueState,
  },
  move: {
    input: z.strictObject({ sessionId, id: queueEntry, index: z.int().nonnegative() }),
    output: queueState,
  },
  remove: { input: z.strictObject({ sessionId, id: queueEntry }), output: queueState },
  clear: { input: bySession, output: queueState },
  hold: { input: bySession, output: queueState },
  release: { input: bySession, output: queueState },
}

const decisions = {
  pending: { input: ofSession, output: z.array(answers.pendingDecision) },
  answer: { input: values.answer, output: nothing },
}

const files = {
  tree: { input: byPath, output: fileAnswers.folderListing },
  find: {
    input: byPlace.extend({
      query: z.string().min(1).max(200),
      limit: z.int().positive().max(100).optional(),
    }),
    output: z.array(z.string()),
  },
  read: { input: byPath, output: fileAnswers.fileContent },
  status: { input: byPlace, output: fileAnswers.gitStatus.nullable() },
  diff: { input: byPlace, output: fileAnswers.changes.nullable() },
  turnDiff: {
    input: z.strictObject({ sessionId, turnId: z.string().min(1).max(64) }),
    output: fileAnswers.turnDiff,
  },
  blame: {
    input: byPath.extend({ line: values.lineNumber.optional(), of: values.sideOfChanges.optional() }),
    output: fileAnswers.blame.nullable(),
  },
}

const limit = z.number().nonnegative().max(1_000_000).nullable()
const tokenLimit = z.int().nonnegative().nullable()
/** A year. */
const minuteLimit = z.number().nonnegative().max(525_600).nullable()

const budgets = {
  get: { input: byProject, output: answers.budgetState },
  set: {
    input: z.strictObject({
      ...{ project, maxCostUsd: limit.optional(), maxIterations: limit.optional() },
      ...{ maxTokens: tokenLimit.optional(), maxMinutes: minuteLimit.optional() },
    }),
    output: answers.budgetState,
  },
  setSession: {
    input: z.strictObject({
      ...{ sessionId, budgetUsd: limit.optional(), budgetTokens: tokenLimit.optional() },
      budgetMinutes: minuteLimit.optional(),
    }),
    output: answers.storedSession,
  },
}

const MAX_RULE_CHARS = 10_000
const rules = {
  list: { input: byProject, output: z.array(agents.policySource) },
  remove: {
    input: z.strictObject({
      project,
      scope: z.enum(['global', 'project']),
      line: z.int().positive(),
      text: z.string().min(1).max(MAX_RULE_CHARS),
    }),
    output: z.array(agents.policySource),
  },
}

const toolServers = {
  list: { input: byProject, output: z.array(agents.toolServerSource) },
  save: { input: values.ownToolServer.extend({ config: values.toolServerConfig }), output: nothing },
  remove: { input: values.ownToolServer, output: nothing },
  test: { input: values.triedToolServer, output: agents.serverProbe },
  lend: { input: values.lentToolServers, output: nothing },
}

const trust = {
  get: { input: byProject, output: answers.shownTrust },
  allow: { input: values.trustInput, output: answers.shownTrust },
  revoke: { input: byProject, output: answers.shownTrust },
}

const count = z.number()

const system = {
  info: {
    output: z.strictObject({
      ...{ version: z.string(), node: z.string(), platform: z.string(), arch: z.string() },
      ...{ pid: z.int(), startedAt: z.string(), address: z.string() },
      demo: answers.demo.nullable(),
    }),
  },
  health: {
    output: z.strictObject({
      ...{ uptimeS: count, rssBytes: count, sockets: count, connections: count },
      ...{ openProjects: count, openSessions: count, runningTurns: count, pendingDecisions: count },
    }),
  },
  processes: { input: ofSession, output: z.array(answers.sessionProcesses) },
  endProcess: {
    input: z.strictObject({ sessionId, pid: z.int().positive(), startedAt: z.string().min(1).max(64) }),
    output: z.strictObject({ ended: count, left: count }),
  },
  newSignInLink: {
    output: z.strictObject({
      url: z.string(),
      minutes: z.number(),
      reach: z.enum(['this-machine', 'network']),
    }),
  },
  newProgramToken: {
    input: z.strictObject({
      project,
      marker: z
        .string()
        .max(4096)
        .optional()
        .describe('The variable CHIRALITY_RUN of the program: an agent that runs it passes it on.'),
    }),
    output: z.strictObject({ url: z.string(), token: z.string() }),
  },
  browsers: { output: z.array(answers.signedInBrowser.extend({ isCaller: z.boolean() })) },
  push: {
    output: z.strictObject({ publicKey: z.string(), show: z.enum(PUSH_DETAILS).nullable() }),
  },
  subscribePush: {
    input: z.strictObject({
      endpoint: z.url().max(2048),
      keys: z.strictObject({ p256dh: z.string().max(128), auth: z.string().max(64) }),
      show: z.enum(PUSH_DETAILS),
    }),
    output: z.strictObject({ show: z.enum(PUSH_DETAILS) }),
  },
  unsubscribePush: { output: z.strictObject({ show: z.null() }) },
  revokeBrowser: {
    input: z.strictObject({ id: values.browserId }),
    output: z.strictObject({ revoked: z.boolean() }),
  },
}

const session = {
  events: {
    input: z.object({ sessionId, lastEventId: values.cursor.nullish(), textOnce: z.boolean().optional() }),
    yields: z.array(envelope),
  },
}

export const CALLS = {
  ...{ projects, harnesses, personas, sessions, turns: { ...turns, queue }, decisions, files, worktrees },
  ...{ agents: ownAgents, review, loops, schedules, budgets, rules, toolServers, trust, data },
  ...{ system, session, fleet },
}

export interface Call {
  input?: z.ZodType
  output?: z.ZodType
  yields?: z.ZodType
}

/** By their paths: `turns.queue.edit`. */
export function everyContractCall(): Map<string, Call> {
  return new Map(callsIn(CALLS, []))
}

function callsIn(part: object, path: string[]): [string, Call][] {
  return Object.entries(part).flatMap(([name, value]): [string, Call][] => {
    const here = [...path, name]
    const isCall = 'output' in value || 'yields' in value
    return isCall ? [[here.join('.'), value as Call]] : callsIn(value, here)
  })
}
