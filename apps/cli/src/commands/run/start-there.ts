import type { Envelope } from '@chirality/core'
import { readServerFile, type ServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { callProcedure, callServer, eventsIn } from '../../running-server.ts'
import type { RunRequest } from './request.ts'
import type { StartTurn } from './start-here.ts'

/** Runs the turn in the server at `address`; `locked` is the error if that is no server that accepts turns. */
export function startThere(
  address: string,
  { session, prompt, turn, budget }: RunRequest,
  locked: unknown,
): StartTurn {
  return async () => {
    const { stored, nativeSessionId, projectRoot, harness, persona, mode, model, worktree } = session
    if (nativeSessionId !== null) {
      throw new UsageError(
        `The server at ${address} has this project. Run \`chirality sessions import ${nativeSessionId}\` first, or stop it.`,
      )
    }
    const { usd: budgetUsd, tokens: budgetTokens, minutes: budgetMinutes } = budget ?? {}
    const limits = { budgetUsd, budgetTokens, budgetMinutes }
    if (budget !== undefined && stored) {
      const server = await readServerFile(userDataFolder(), address)
      if (server === undefined) throw locked
      await callProcedure(server, 'budgets.setSession', { sessionId: stored.id, ...limits })
    }
    const there = await startThroughServer(address, {
      projectRoot,
      ...(stored
        ? { sessionId: stored.id }
        : { newSession: defined({ harness, persona, mode, model, worktree, ...limits }) }),
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

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

interface ServerTurnRequest {
  projectRoot: string
  /** The id of an existing session; without it `newSession` describes the one to create. */
  sessionId?: string
  newSession?: Record<string, unknown>
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
  const server = await readServerFile(home, address)
  if (server === undefined) return undefined
  // The user named the folder on the command line, which registers it as in the dashboard.
  await callServer(server, '/trpc/projects.register', { path: request.projectRoot })
  const sessionId = request.sessionId ?? (await createSession(server, request))
  const { message, options } = request
  const response = await callServer(server, '/api/harness/turn?as=envelopes', { sessionId, message, options })
  return {
    sessionId,
    envelopes: eventsIn<Envelope>(response),
    interrupt: async () => void (await callServer(server, '/api/harness/interrupt', { sessionId })),
    kill: async () => void (await callServer(server, '/trpc/turns.kill', { sessionId })),
  }
}

async function createSession(server: ServerFile, request: ServerTurnRequest): Promise<string> {
  const body = { mode: 'direct', ...request.newSession, projectRoot: request.projectRoot }
  const response = await callServer(server, '/api/harness/session/create', body)
  const { session } = (await response.json()) as { session: { id: string } }
  return session.id
}
