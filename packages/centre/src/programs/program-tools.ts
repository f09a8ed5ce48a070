import { conditionOf, type PermissionMode } from '@chirality/core'
import { exportSession, type LiveSession, type SessionStatus } from '@chirality/sessions'
import { z } from 'zod'
import type { Centre } from '../centre.ts'
import { liveSession, shownSessions, storedSession } from '../sessions/live-session.ts'
import { model, permissionMode, personaId, sessionId, title, usd } from '../shapes/values.ts'
import { LOOP_TOOLS } from './loop-tools.ts'
import {
  ENDS,
  type ProgramCall,
  type ProgramTool,
  READS,
  Refused,
  tool,
  WORKS,
  waitFor,
  waitSeconds,
} from './program-tool.ts'
import type { ProgramScope } from './programs.ts'

const MAX_PROMPT_CHARS = 256 * 1024

/**
 * Tools for the sessions and loops of one project. None of the tools answers a permission request: that is left to
 * a person, so an agent cannot approve what it asked another agent to do.
 */
export const PROGRAM_TOOLS: readonly ProgramTool[] = [
  tool({
    name: 'list_agents',
    title: 'List agents and personas',
    hints: READS,
    output: z.object({
      agents: z.array(z.object({ agent: z.string(), name: z.string(), installed: z.boolean() })),
      personas: z.array(z.object({ persona: z.string(), description: z.string().nullish() })),
    }),
    description: 'The agents and personas that start_session can use.',
    input: z.strictObject({}),
    run: async (_, { centre, scope }) => {
      const status = await centre.harnesses.checkAllInstallStatus()
      const agents = centre.harnesses.getAll().map(harness => {
        const { id, name } = harness.meta()
        return { agent: id, name, installed: status.get(id)?.installed ?? false }
      })
      const personas = await centre.personas.list(scope.projectRoot)
      return { agents, personas: personas.map(({ id, description }) => ({ persona: id, description })) }
    },
  }),
  tool({
    name: 'list_sessions',
    title: 'List sessions',
    hints: READS,
    output: z.object({
      sessions: z.array(
        z.object({
          session_id: z.string(),
          title: z.string().nullish(),
          agent: z.string().nullish(),
          state: z.string(),
          cost_usd: z.number().nullish(),
          updated_at: z.string(),
        }),
      ),
    }),
    description: 'The sessions of the project, newest first.',
    input: z.strictObject({ limit: z.int().positive().max(200).default(50) }),
    run: async ({ limit }, { centre, scope }) => {
      const { sessions } = await shownSessions(centre, { projectRoot: scope.projectRoot, limit })
      const states = new Map(centre.host.statuses().map(status => [status.sessionId, status.condition]))
      const told = sessions.map(session => ({
        session_id: session.id,
        title: session.title,
        agent: session.harness,
        // As await_session says it, also of a session that nobody has opened since the server started.
        state: states.get(session.id) ?? conditionOf({ ...session, phase: session.status }),
        cost_usd: session.costUsd,
        updated_at: session.updatedAt,
      }))
      return { sessions: told }
    },
  }),
  tool({
    name: 'start_session',
    title: 'Start an agent',
    hints: WORKS,
    output: z.object({ session_id: z.string() }),
    description:
      'Starts an agent in a new session of the project, and returns its session_id at once; await_session waits for its answer. The user sees the session, and answers what it asks.',
    input: z.strictObject({
      prompt: z
        .string()
        .min(1)
        .max(MAX_PROMPT_CHARS)
        .describe('All that the agent has to know: it sees nothing else.'),
      title: title.optional(),
      agent: z.string().max(64).optional().describe('As list_agents names it. Default: the first one.'),
      persona: personaId.optional().describe('As list_agents names it.'),
      model: model.optional(),
      permission_mode: permissionMode
        .optional()
        .describe('Never auto or bypassPermissions: only the user may let an agent work unasked.'),
      budget_usd: usd.optional(),
      worktree: z.boolean().optional().describe('Work in a git worktree of its own, on a branch of its own.'),
    }),
    run: async (input, { centre, scope }) => {
      const { host, programs } = centre
      const { permission_mode: mode } = input
      if (mode === 'auto' || mode === 'bypassPermissions')
        throw new Refused(
          `${mode} is refused: a program cannot let an agent work unasked, only the user can, in the dashboard. Use default, acceptEdits or plan.`,
        )
      const inherited = await settingsOfCaller(centre, scope, input)
      const started = await programs.start(host, scope, async () => {
        const session = await host.createSession(scope.projectRoot, {
          ...inherited,
          ...(input.agent === undefined ? {} : { harness: input.agent }),
          ...(input.model === undefined ? {} : { model: input.model }),
          ...(input.budget_usd === undefined ? {} : { budgetUsd: input.budget_usd }),
          ...(input.worktree ? { worktree: {} } : {}),
          title: input.title ?? titleOf(input.prompt),
        })
        try {
          await (await host.session(session.id)).start(input.prompt)
        } catch (error) {
          await host.deleteSession(session.id)
          throw error
        }
        return session.id
      })
      if ('refused' in started) throw new Refused(started.refused)
      return { session_id: started.sessionId }
    },
  }),
  tool({
    name: 'send_message',
    title: 'Send a message',
    hints: WORKS,
    output: z.object({ queued: z.boolean() }),
    description: 'Sends a message to a session that start_session made. If it is at work, the message waits.',
    input: z.strictObject({ session_id: sessionId, message: z.string().min(1).max(MAX_PROMPT_CHARS) }),
    run: async ({ session_id, message }, call) => {
      const session = await ownSession(session_id, call)
      const sent = await session.send(message)
      return { queued: !('turnId' in sent) }
    },
  }),
  tool({
    name: 'await_session',
    title: 'Wait for an answer',
    hints: READS,
    output: z.object({
      session_id: z.string(),
      state: z.string(),
      answer: z.string(),
      waits_for_user: z.array(z.string()).optional(),
      error: z.string().optional(),
      answer_is_cut: z.boolean().optional(),
      cost_usd: z.number().nullish(),
      tokens: z.unknown(),
    }),
    description:
      'Waits until a session has answered, or needs the user, and returns its state and its last answer. Call it again if the time was too short.',
    input: z.strictObject({
      session_id: sessionId,
      timeout_seconds: waitSeconds,
    }),
    run: async ({ session_id, timeout_seconds }, call) => {
      const session = await projectSession(session_id, call)
      await untilAtRest(session, timeout_seconds * 1000, call)
      return answerOf(session)
    },
  }),
  tool({
    name: 'read_session',
    title: 'Read a conversation',
    hints: READS,
    description: 'The conversation of a session as Markdown, without secrets. The end of it, if it is long.',
    input: z.strictObject({
      session_id: sessionId,
      max_chars: z.int().min(500).max(200_000).default(20_000),
    }),
    run: async ({ session_id, max_chars }, call) => {
      const { id, projectRoot } = (await projectSession(session_id, call)).stored
      let text = ''
      let left = 0
      for await (const part of exportSession(projectRoot, id, {
        format: 'markdown',
        home: call.centre.home,
      })) {
        text += part
        if (text.length > 2 * max_chars) {
          left += text.length - max_chars
          text = text.slice(-max_chars)
        }
      }
      left += Math.max(0, text.length - max_chars)
      text = text.slice(-max_chars)
      return left === 0 ? text : `(${left} characters before this are left out.)\n\n${text}`
    },
  }),
  tool({
    name: 'stop_session',
    title: 'Stop an agent',
    hints: ENDS,
    output: z.object({ stopped: z.boolean() }),
    description: 'Stops the work of a session that start_session made.',
    input: z.strictObject({ session_id: sessionId }),
    run: async ({ session_id }, call) => {
      const session = await ownSession(session_id, call)
      const wasAtWork = session.status.phase !== 'idle'
      await session.queue.hold()
      session.interrupt()
      return { stopped: wasAtWork }
    },
  }),
  ...LOOP_TOOLS,
]

/**
 * A session that an agent starts has the permissions and the persona of the agent's own session: otherwise an agent that
 * may only read could start one that may write.
 */
async function settingsOfCaller(
  centre: Centre,
  { sessionId }: ProgramScope,
  asked: { persona?: string | undefined; permission_mode?: PermissionMode | undefined },
): Promise<{ persona?: string; permissionMode?: PermissionMode }> {
  const { persona, permission_mode: mode } = asked
  if (sessionId === null)
    return {
      ...(persona === undefined ? {} : { persona }),
      ...(mode === undefined ? {} : { permissionMode: mode }),
    }
  const { persona: own, settings } = await storedSession(centre, sessionId)
  if (persona !== undefined && persona !== own)
    throw new Refused('A session that you start has the persona of this session. Leave persona out.')
  if (mode !== undefined && mode !== settings.permissionMode)
    throw new Refused(
      'A session that you start has the permissions of this session. Leave permission_mode out.',
    )
  return {
    ...(own === null ? {} : { persona: own }),
    ...(settings.permissionMode === undefined ? {} : { permissionMode: settings.permissionMode }),
  }
}

async function projectSession(id: string, { centre, scope }: ProgramCall): Promise<LiveSession> {
  const session = await liveSession(centre, id)
  if (session.status.projectRoot !== scope.projectRoot)
    throw new Refused(`There is no session ${id} in this project. list_sessions shows them.`)
  return session
}

/** A session of the user has its own permissions, and takes words from the user only. */
async function ownSession(id: string, call: ProgramCall): Promise<LiveSession> {
  const session = await projectSession(id, call)
  if (await call.centre.programs.has(id)) return session
  throw new Refused('The user started this session, and only the user may use it. read_session shows it.')
}

async function untilAtRest(session: LiveSession, withinMs: number, call: ProgramCall): Promise<void> {
  const over = new AbortController()
  const isAtRest = ({ phase, queue, queueHeld }: SessionStatus) =>
    phase === 'waiting' || (phase === 'idle' && (queue.length === 0 || queueHeld))
  const stop = call.centre.host.onStatus(status => {
    if (status.sessionId === session.id && isAtRest(status)) over.abort()
  })
  try {
    if (isAtRest(session.status)) return
    const state = () => `The session is ${session.status.condition}.`
    await waitFor(over.signal, withinMs, { call, state })
  } finally {
    stop()
  }
}

function answerOf(session: LiveSession): Record<string, unknown> {
  const { status } = session
  const events = session.log.readLast(LAST_EVENTS).map(({ event }) => event)
  // Only of the last turn: the answer of an earlier one is not the answer to what was asked now.
  const lastTurn = events.slice(events.findLastIndex(({ type }) => type === 'turn:start') + 1)
  const said = lastTurn.flatMap(event =>
    event.type === 'chat:complete' || (event.type === 'chat:message' && !event.parentToolUseId)
      ? [event.text]
      : [],
  )
  const text = said.at(-1) ?? ''
  const error = lastTurn.findLast(event => event.type === 'session:error')
  return {
    session_id: session.id,
    state: status.condition,
    ...(status.phase === 'waiting' ? { waits_for_user: status.pending.map(({ toolName }) => toolName) } : {}),
    ...(error === undefined ? {} : { error: error.error }),
    ...(text.length > MAX_ANSWER_CHARS
      ? { answer: text.slice(0, MAX_ANSWER_CHARS), answer_is_cut: true }
      : { answer: text }),
    cost_usd: status.costUsd,
    tokens: status.tokens,
  }
}

const LAST_EVENTS = 500
const MAX_ANSWER_CHARS = 100_000

function titleOf(prompt: string): string {
  const [line = ''] = prompt.trim().split('\n')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}
