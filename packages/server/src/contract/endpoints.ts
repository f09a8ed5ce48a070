import { CALLS, errorCode, journalEntry } from '@chirality/centre'
import { EXPORT_FORMATS } from '@chirality/sessions'
import { z } from 'zod'
import { parseBrowserKey } from '../browsers/browser-key.ts'
import type { RouteKind } from '../guard/guard.ts'
import { rpcErrorAnswer } from './error-answers.ts'

const { decisions, files, loops, schedules, sessions, system, trust, turns, worktrees } = CALLS
const envelope = CALLS.session.events.yields.element
const { project: projectPath } = trust.get.input.shape
const browserId = system.revokeBrowser.input.shape.id
const { message, options } = turns.start.input.shape
/** What identifies a session, a worktree, a loop and its tasks in a path. */
export const PATH_IDS = {
  session: sessions.get.input.shape.sessionId,
  worktree: worktrees.remove.input.shape.id,
  loop: loops.get.input.shape.loopId,
  task: loops.task.input.shape.task,
}

/** A REST or SSE route: its access, input and output. */
export interface Endpoint {
  method: 'GET' | 'POST' | 'DELETE'
  /** Segments; `:name` matches any one, a last `*` the rest. */
  path: string
  kind: RouteKind
  summary: string
  query?: z.ZodObject
  body?: z.ZodType
  /** It continues after the event with this number: the header `Last-Event-ID`, or `after`. */
  resumes?: true
  answer: Answer
  also?: Answer
  /** How the protocol that it speaks refuses; it has `Error`, too, for what is refused before. */
  refusal?: z.ZodType
  /** The error statuses of this route, beside those that every route has. */
  refuses?: readonly number[]
}

/** `streamed`: a client that takes a stream gets the JSON as one. */
export type Answer = { description: string; status: 200 | 201 | 202 | 204 } & (
  | { json: z.ZodType; streamed?: true }
  /** `text/event-stream`, with one of these in each `data` line. */
  | { events: z.ZodType }
  | { file: true }
  | { empty: true }
)

const project = { projectRoot: projectPath }
const events = {
  as: z
    .enum(['events', 'envelopes'])
    .optional()
    .describe('`envelopes`: also when each came, and in which turn.'),
}
const anEvent = z.union([envelope.shape.event, envelope])
const other = z.object({ session: z.string().optional().describe('Another session than the default one.') })
const session = z.strictObject({ session: sessions.get.output })

const signIn = z.union([
  z.strictObject({
    secret: z.string().min(1).max(128),
    key: z
      .string()
      .max(256)
      .refine(
        key => parseBrowserKey(key) !== undefined,
        'must be an ECDSA key on P-256, as SPKI in base64url',
      )
      .optional(),
  }),
  z.strictObject({
    browser: browserId,
    challenge: z.string().max(128),
    signature: z.string().max(128),
  }),
])

const timestamp = z.int()
const call = { id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()), timestamp }

/** The events of `GET /events`: whole texts and whole calls. */
export const coreEvent = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.enum(['user', 'text', 'reasoning']), content: z.string(), timestamp }),
    z.strictObject({ type: z.literal('tool_call'), ...call }),
    z.strictObject({
      type: z.literal('tool_result'),
      id: z.string(),
      result: z.string(),
      isError: z.boolean(),
      timestamp,
    }),
    z
      .strictObject({ type: z.literal('permission_request'), ...call })
      .describe('Answered with `POST /api/harness/decisions`.'),
    z
      .strictObject({
        type: z.literal('error'),
        code: errorCode,
        message: z.string(),
        recovered: z.boolean(),
        timestamp,
      })
      .describe('Why a turn failed; with `recovered` it goes on.'),
    z.strictObject({
      type: z.literal('status'),
      state: z.enum(['thinking', 'running tool', 'waiting', 'idle']),
      message: z.string(),
    }),
  ])
  .meta({ id: 'CoreEvent' })

export type CoreEvent = z.infer<typeof coreEvent>

const get = <E extends Omit<Endpoint, 'method' | 'kind'>>(endpoint: E) => ({
  method: 'GET' as const,
  kind: 'call' as const,
  ...endpoint,
})
const post = <E extends Omit<Endpoint, 'method' | 'kind'>>(endpoint: E) => ({
  method: 'POST' as const,
  kind: 'call' as const,
  ...endpoint,
})
const del = <E extends Omit<Endpoint, 'method' | 'kind'>>(endpoint: E) => ({
  method: 'DELETE' as const,
  kind: 'call' as const,
  ...endpoint,
})
const json = <S extends z.ZodType>(description: string, schema: S) => ({
  status: 200 as const,
  description,
  json: schema,
})
const nothing = (description: string) => ({ status: 204 as const, description, empty: true as const })
const stream = <S extends z.ZodType>(description: string, schema: S) => ({
  status: 200 as const,
  description,
  events: schema,
})

const changeOfSchedule = (action: string, summary: string) => ({
  path: `/api/harness/schedules/:id/${action}`,
  summary,
  answer: json('The schedule', schedules.pause.output),
  refuses: [404, 409],
})

/** Every route, apart from the files of the dashboard and from tRPC, whose procedures are in `CALLS`. */
export const ENDPOINTS = {
  health: {
    ...get({
      path: '/healthz',
      summary: 'Whether the server is there',
      answer: json(
        'It is',
        z.strictObject({ status: z.literal('ok'), name: z.literal('chirality'), version: z.string() }),
      ),
    }),
    kind: 'page' as const,
  },
  signIn: {
    ...post({
      path: '/api/sign-in',
      summary: 'Exchanges the secret of a sign-in link, or a signed challenge, for a token',
      body: signIn,
      answer: json('The token', z.strictObject({ token: z.string(), browser: z.string().nullable() })),
      refuses: [429],
    }),
    kind: 'sign-in' as const,
  },
  challenge: {
    ...post({
      path: '/api/sign-in/challenge',
      summary: 'What a browser signs with its key',
      answer: json('The challenge', z.strictObject({ challenge: z.string() })),
    }),
    kind: 'sign-in' as const,
  },
  device: {
    ...post({
      path: '/api/sign-in/device',
      summary: 'Exchanges the cookie of a device for a token',
      answer: json('The token', z.strictObject({ token: z.string(), browser: z.string() })),
      refuses: [429],
    }),
    kind: 'device' as const,
  },
  mcp: {
    ...post({
      path: '/api/mcp',
      summary: 'Sessions for programs, through MCP (streamable HTTP)',
      body: z.looseObject({}).describe('A JSON-RPC message, as the Model Context Protocol defines it.'),
      answer: { ...json('The JSON-RPC answer', z.looseObject({})), streamed: true as const },
      also: {
        status: 202 as const,
        description: 'A notification, which has no answer',
        empty: true as const,
      },
      refusal: rpcErrorAnswer,
      refuses: [406],
    }),
    kind: 'program' as const,
  },
  startTurn: post({
    path: '/api/harness/turn',
    summary: 'Runs a turn and streams its UI events',
    query: z.object(events),
    body: turns.start.input,
    answer: stream('UI events until the turn is over', anEvent),
    refuses: [404, 409, 412, 422, 503],
  }),
  interrupt: post({
    path: '/api/harness/interrupt',
    summary: 'Interrupts the turn of a session',
    body: turns.interrupt.input,
    answer: json('Whether there was a turn', z.strictObject({ interrupted: z.boolean() })),
    refuses: [404],
  }),
  pendingDecisions: get({
    path: '/api/harness/decisions',
    summary: 'Permission requests that wait for an answer, oldest first',
    query: z.object({ sessionId: z.string().optional() }),
    answer: json('The requests', z.strictObject({ pending: decisions.pending.output })),
    refuses: [404],
  }),
  answerDecision: post({
    path: '/api/harness/decisions',
    summary: 'Allows or denies a permission request. The first answer counts',
    body: decisions.answer.input,
    answer: nothing('The agent has it'),
    refuses: [404, 409],
  }),
  createSession: post({
    path: '/api/harness/session/create',
    summary: 'Makes a session',
    body: sessions.create.input.omit({ project: true }).extend(project),
    answer: { status: 201 as const, description: 'The session', json: session },
    refuses: [404, 409, 412, 422],
  }),
  showTrust: get({
    path: '/api/harness/trust',
    summary: 'What a project brings for its agents to run, and whether they use it',
    query: z.object(project),
    answer: json('The files, with their contents and a fingerprint', trust.get.output),
  }),
  allowTrust: post({
    path: '/api/harness/trust',
    summary: 'Lets agents use exactly the files that were shown',
    body: trust.allow.input.omit({ project: true }).extend(project),
    answer: json('The files', trust.get.output),
    refuses: [409],
  }),
  revokeTrust: del({
    path: '/api/harness/trust',
    summary: 'Takes that back',
    query: z.object(project),
    answer: json('The files', trust.get.output),
  }),
  listSessions: get({
    path: '/api/harness/session/list',
    summary: 'Sessions, newest first',
    query: z.object({ projectRoot: projectPath.optional() }),
    answer: json('Sessions', sessions.list.output.shape.sessions),
  }),
  getSession: get({
    path: '/api/harness/session/:id',
    summary: 'A session',
    answer: json('The session', session),
    refuses: [404],
  }),
  deleteSession: del({
    path: '/api/harness/session/:id',
    summary: 'Deletes a session and all that is kept of it',
    answer: nothing('Gone'),
    refuses: [404],
  }),
  exportSession: get({
    path: '/api/harness/session/:id/export',
    summary: 'The session as a file to share, with secrets removed',
    query: z.object({ format: z.enum(EXPORT_FORMATS).default('markdown') }),
    answer: { status: 200 as const, description: 'A file', file: true as const },
    refuses: [404],
  }),
  sessionEvents: get({
    path: '/api/harness/session/:id/events',
    summary: 'All events of a session, from a cursor on',
    query: z.object(events),
    resumes: true as const,
    answer: stream('UI events', anEvent),
    refuses: [404, 409, 503],
  }),
  blame: get({
    path: '/api/harness/blame',
    summary: 'Which turn wrote each line of a file, for which prompt and money',
    query: z.object({
      ...project,
      path: files.blame.input.shape.path,
      sessionId: PATH_IDS.session.optional().describe('In the worktree of this session.'),
      line: z.coerce.number().pipe(files.blame.input.shape.line.unwrap()).optional(),
    }),
    answer: json('The lines, and their turns; null without git', files.blame.output),
    refuses: [404, 422],
  }),
  listWorktrees: get({
    path: '/api/harness/worktrees',
    summary: 'The worktrees of sessions, also removed ones whose work is kept',
    query: z.object({ projectRoot: projectPath.optional() }),
    answer: json('With the disk space that each takes', worktrees.list.output),
  }),
  removeWorktree: del({
    path: '/api/harness/worktrees/:id',
    summary: 'Removes a worktree. What is nowhere else is kept in the repository',
    answer: json('What is kept', worktrees.remove.output),
    refuses: [404, 409, 412],
  }),
  restoreWorktree: post({
    path: '/api/harness/worktrees/:id/restore',
    summary: 'Makes a removed worktree again, with its branch and files',
    answer: nothing('It is there'),
    refuses: [404, 409, 412],
  }),
  forgetWorktree: post({
    path: '/api/harness/worktrees/:id/forget',
    summary: 'Gives up what is kept of a removed worktree',
    answer: nothing('Gone'),
    refuses: [404, 409],
  }),
  listLoops: get({
    path: '/api/harness/loops',
    summary: 'Loops, newest first',
    query: z.object({ projectRoot: projectPath.optional() }),
    answer: json('Loops', loops.list.output),
  }),
  startLoop: post({
    path: '/api/harness/loops',
    summary: 'Works through a task list of a project',
    body: loops.start.input.omit({ project: true }).extend(project),
    answer: json('The loop', loops.start.output),
    refuses: [404, 409, 412, 422],
  }),
  getLoop: get({
    path: '/api/harness/loops/:id',
    summary: 'A loop with its tasks',
    answer: json('The loop', loops.get.output),
    refuses: [404],
  }),
  loopEvents: get({
    path: '/api/harness/loops/:id/events',
    summary: 'The journal of a loop, until it does not run any more',
    resumes: true as const,
    answer: stream('Entries', journalEntry),
    refuses: [404, 409, 503],
  }),
  stopLoop: post({
    path: '/api/harness/loops/:id/stop',
    summary: 'Stops a loop. Answers when no agent and no check of it runs',
    answer: json('The loop', loops.start.output),
    refuses: [404],
  }),
  resumeLoop: post({
    path: '/api/harness/loops/:id/resume',
    summary: 'Goes on with a loop, sets limits, or puts a task back with an answer or a note',
    body: loops.resume.input.omit({ loopId: true }),
    answer: json('The loop', loops.start.output),
    refuses: [404, 409, 412],
  }),
  loopReport: get({
    path: '/api/harness/loops/:id/report',
    summary: 'The report of a loop',
    answer: json('Markdown', loops.report.output),
    refuses: [404],
  }),
  acceptLoop: post({
    path: '/api/harness/loops/:id/accept',
    summary: 'Merges what is proved into the branch that the loop began at',
    body: z.strictObject({ task: PATH_IDS.task.optional().describe('Only up to this task.') }),
    answer: json('What was merged', loops.accept.output),
    refuses: [404, 409],
  }),
  revertLoopTask: post({
    path: '/api/harness/loops/:id/tasks/:task/revert',
    summary: 'Takes the change of a proved task back from the branch of the loop',
    answer: json('The loop', loops.start.output),
    refuses: [404, 409],
  }),
  listSchedules: get({
    path: '/api/harness/schedules',
    summary: 'Schedules, oldest first',
    answer: json('Schedules', schedules.list.output),
  }),
  addSchedule: post({
    path: '/api/harness/schedules',
    summary: 'Runs a prompt or a loop at times',
    body: schedules.add.input.omit({ project: true }).extend(project),
    answer: json('The schedule', schedules.add.output),
    refuses: [404, 409],
  }),
  getSchedule: get({
    path: '/api/harness/schedules/:id',
    summary: 'A schedule with its last runs and their receipts',
    answer: json('The schedule', schedules.get.output),
    refuses: [404],
  }),
  removeSchedule: del({
    path: '/api/harness/schedules/:id',
    summary: 'Removes a schedule. What runs goes on',
    answer: nothing('Removed'),
    refuses: [404],
  }),
  changeSchedule: post({
    ...changeOfSchedule('change', 'Changes all of it but its project, and whether it is a prompt or a loop'),
    body: schedules.change.input.omit({ id: true }),
  }),
  pauseSchedule: post(changeOfSchedule('pause', 'Pauses a schedule')),
  resumeSchedule: post(
    changeOfSchedule('resume', 'Goes on with a schedule. Times while it was paused are not made up for'),
  ),
  runSchedule: post(changeOfSchedule('run', 'Runs it now, beside its times')),
  coreEvents: get({
    path: '/events',
    summary: 'Events of the default session',
    query: other,
    resumes: true as const,
    answer: stream('Events', coreEvent),
    refuses: [404, 409, 503],
  }),
  prompt: post({
    path: '/prompt',
    summary: 'Gives the default session a prompt',
    query: other,
    body: z.strictObject({ content: message, options }),
    answer: {
      status: 202 as const,
      description: 'The turn',
      json: z.strictObject({ sessionId: z.string(), turnId: z.string() }),
    },
    refuses: [404, 409, 412],
  }),
  cancel: post({
    path: '/cancel',
    summary: 'Interrupts the default session',
    query: other,
    answer: json('Whether a turn ran', z.strictObject({ cancelled: z.boolean() })),
    refuses: [404, 409],
  }),
  openApi: get({
    path: '/openapi.json',
    summary: 'This description',
    answer: json('It', z.record(z.string(), z.unknown())),
  }),
} satisfies Record<string, Endpoint>
