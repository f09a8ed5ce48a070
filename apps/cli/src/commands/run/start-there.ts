import { readServerFile } from '@chirality/server'
import { userDataFolder } from '@chirality/sessions'
import { callProcedure } from '../../running-server.ts'
import { UsageError } from '../../usage-error.ts'
import type { RunRequest } from './request.ts'
import type { StartTurn } from './running-turn.ts'
import { startThroughServer } from './through-server.ts'

/** The turn in the server at `address`; `locked` is what to say when that is none that takes turns. */
export function startThere(
  address: string,
  { session, prompt, turn, budget }: RunRequest,
  locked: unknown,
): StartTurn {
  return async () => {
    const { stored, nativeSessionId, projectRoot, harness, persona, mode, model } = session
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
        : { newSession: defined({ harness, persona, mode, model, ...limits }) }),
      message: prompt,
      options: defined({ ...turn }),
    })
    if (there === undefined) throw locked
    return {
      envelopes: there.envelopes,
      // A server that is gone has nothing left to stop; the stream says so.
      interrupt: () => void there.interrupt().catch(() => {}),
      kill: () => void there.kill().catch(() => {}),
    }
  }
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
