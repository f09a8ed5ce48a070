import { readServerFile, type ServerFile } from '@chirality/server'
import {
  BudgetBook,
  findProjectOwner,
  ProjectLockedError,
  SessionStore,
  userDataFolder,
} from '@chirality/sessions'
import { callProcedure } from '../../running-server.ts'
import { findSession } from '../sessions/find-session.ts'
import type { Amounts } from './amounts.ts'
import { setPersonaBudget } from './persona-file.ts'

/** Whose budget is meant. */
export type BudgetOwner =
  | { kind: 'project'; project: string }
  | { kind: 'session'; sessionId: string }
  | { kind: 'persona'; project: string; id: string }

/** Through the server that has the project, so that it counts for a turn that runs; else in the files. */
export async function setLimits(owner: BudgetOwner, amounts: Amounts): Promise<void> {
  switch (owner.kind) {
    case 'project':
      return setOfProject(owner.project, amounts)
    case 'session':
      return setOfSession(owner.sessionId, amounts)
    case 'persona':
      return setPersonaBudget(owner, amounts)
  }
}

async function setOfProject(project: string, { usd, tokens, minutes, turns }: Amounts): Promise<void> {
  const server = await serverOf(project)
  if (server !== undefined) {
    const limits = { maxCostUsd: usd, maxTokens: tokens, maxMinutes: minutes, maxIterations: turns }
    await callProcedure(server, 'budgets.set', { project, ...limits })
    return
  }
  const limits = { max_cost_usd: usd, max_tokens: tokens, max_minutes: minutes, max_iterations: turns }
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
  await new BudgetBook().setLimits(project, Object.fromEntries(given))
}

async function setOfSession(sessionId: string, { usd, tokens, minutes }: Amounts): Promise<void> {
  const { projectRoot, settings } = await findSession(sessionId)
  const server = await serverOf(projectRoot)
  if (server !== undefined) {
    const limits = { budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes }
    await callProcedure(server, 'budgets.setSession', { sessionId, ...limits })
    return
  }
  const owner = await findProjectOwner(projectRoot)
  // What it has in memory would be written over this.
  if (owner !== undefined) throw new ProjectLockedError(projectRoot, owner)
  const changed = { ...settings }
  for (const [name, limit] of Object.entries({
    budgetUsd: usd,
    budgetTokens: tokens,
    budgetMinutes: minutes,
  }))
    if (limit !== undefined) changed[name as 'budgetUsd'] = limit ?? undefined
  await new SessionStore().setSettings(sessionId, changed)
}

/** Undefined when nobody has the project, or a `chirality run` has it. */
export async function serverOf(projectRoot: string): Promise<ServerFile | undefined> {
  const owner = await findProjectOwner(projectRoot)
  return owner && readServerFile(userDataFolder(), owner.address)
}
