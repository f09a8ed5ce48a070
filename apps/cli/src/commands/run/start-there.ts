import type { CallInputs } from '@chirality/client'
import { CodedError, type Envelope } from '@chirality/core'
import { type SessionBudget, userDataFolder } from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { hubServer } from '../../fleet-sessions.ts'
import { type LocalServer, serverAt } from '../../running-server.ts'
import type { RunRequest } from './request.ts'
import type { StartTurn } from './start-here.ts'

/** Runs the turn in the server at `address`; `locked` is the error if that is no server that accepts turns. */
export function startThere(
  address: string,
  { session, prompt, turn, budget }: RunRequest,
  locked: unknown,
): StartTurn {
  return async () => {
    const { stored, nativeSessionId, projectRoot } = session
    if (nativeSessionId !== null) {
      throw new UsageError(
        `The server at ${address} has this project. Run \`chirality sessions import ${nativeSessionId}\` first, or stop it.`,
      )
    }
    if (budget !== undefined && stored) {
      const server = await serverAt(address)
      if (server === undefined) throw locked
      await setBudget(server, stored.id, budget)
    }
    const there = await startThroughServer(address, {
      ...(stored ? { projectRoot, sessionId: stored.id } : newSession({ session, budget })),
      message: prompt,
      options: defined({ ...turn }),
    })
    if (there === undefined) throw locked
    return {
      envelopes: there.envelopes,
      // A server that has stopped has nothing to stop; the stream reports it.
      interrupt: () => void there.interrupt().catch(() => {}),
      kill: () => void there.kill().catch(() => {}),
    }
  }
}

/** Runs the turn on the machine that has the session or gets the new one, through the hub's server of this machine. */
export async function startElsewhere(
  machine: string,
  { session, prompt, turn, budget }: RunRequest,
): Promise<StartTurn> {
  const server = await hubServer(machine)
  return async wasStopped => {
    const sessionId =
      session.stored?.id ?? (await createSession(server, newSession({ session, budget }, machine)))
    if (budget !== undefined && session.stored) await setBudget(server, sessionId, budget)
    if (wasStopped()) return undefined
    const there = await turnOf(server, { sessionId, message: prompt, options: defined({ ...turn }) })
    return {
      envelopes: toItsEnd(there.envelopes, machine, sessionId),
      interrupt: () => void there.interrupt().catch(() => {}),
      kill: () => void there.kill().catch(() => {}),
    }
  }
}

/** A turn whose machine went away is not one that failed: it may go on there. */
async function* toItsEnd(
  envelopes: AsyncIterable<Envelope>,
  machine: string,
  sessionId: string,
): AsyncGenerator<Envelope> {
  let isOver = false
  for await (const envelope of envelopes) {
    if (envelope.event.type === 'turn:end') isOver = true
    yield envelope
  }
  if (!isOver)
    throw new CodedError(
      'machine-away',
      `The machine ${machine} is not heard any more. The turn may go on there: chirality sessions show ${sessionId}`,
    )
}

/** The session that a server makes for the turn. */
function newSession({ session, budget }: Pick<RunRequest, 'session' | 'budget'>, machine?: string) {
  const { projectRoot, harness, persona, mode, model, worktree } = session
  // A new session has no limit that could be taken away.
  const limits = {
    budgetUsd: budget?.usd ?? undefined,
    budgetTokens: budget?.tokens ?? undefined,
    budgetMinutes: budget?.minutes ?? undefined,
  }
  return { projectRoot, newSession: { machine, harness, persona, mode, model, worktree, ...limits } }
}

function setBudget(server: LocalServer, sessionId: string, budget: SessionBudget): Promise<unknown> {
  const { usd: budgetUsd, tokens: budgetTokens, minutes: budgetMinutes } = budget
  return server.calls.budgets.setSession.mutate({ sessionId, budgetUsd, budgetTokens, budgetMinutes })
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

interface ServerTurnRequest {
  projectRoot: string
  /** The id of an existing session; without it `newSession` describes the one to create. */
  sessionId?: string
  newSession?: Omit<CallInputs['sessions']['create'], 'project'>
  message: string
  /** Options in the form of the API: `permissionMode`, `model`, `tools` … */
  options?: Record<string, unknown>
}

/** A turn that another process runs. */
interface ServerTurn {
  readonly sessionId: string
  /** Up to the last event of the turn. */
  readonly envelopes: AsyncIterable<Envelope>
  interrupt(): Promise<void>
  kill(): Promise<void>
}

/**
 * Runs a turn in the server that owns the project: its address is in `ProjectLockedError`. Undefined if it is no server
 * of this user that accepts turns, for example another `chirality run`.
 */
export async function startThroughServer(
  address: string,
  request: ServerTurnRequest,
  home = userDataFolder(),
): Promise<ServerTurn | undefined> {
  const server = await serverAt(address, home)
  if (server === undefined) return undefined
  // The user named the folder on the command line, which registers it as in the dashboard.
  await server.calls.projects.register.mutate({ path: request.projectRoot })
  const sessionId = request.sessionId ?? (await createSession(server, request))
  const { message, options } = request
  return turnOf(server, { sessionId, message, options })
}

async function turnOf(
  server: LocalServer,
  {
    sessionId,
    ...turn
  }: { sessionId: string; message: string; options: Record<string, unknown> | undefined },
): Promise<ServerTurn> {
  const { turns } = server.calls
  return {
    sessionId,
    envelopes: await server.stream<Envelope>('/api/harness/turn?as=envelopes', {
      body: { sessionId, ...turn },
    }),
    interrupt: async () => void (await turns.interrupt.mutate({ sessionId })),
    kill: async () => void (await turns.kill.mutate({ sessionId })),
  }
}

async function createSession(
  server: LocalServer,
  request: Pick<ServerTurnRequest, 'projectRoot' | 'newSession'>,
): Promise<string> {
  const { id } = await server.calls.sessions.create.mutate({
    mode: 'direct',
    ...request.newSession,
    project: request.projectRoot,
  })
  return id
}
