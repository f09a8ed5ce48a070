import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PersonaManager } from '@chirality/personas'
import { readServerFile, type ServerFile } from '@chirality/server'
import {
  BudgetBook,
  findProjectOwner,
  ProjectLockedError,
  SessionStore,
  userDataFolder,
} from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { tell } from '../../output.ts'
import { callProcedure } from '../../running-server.ts'
import { findPersona } from '../personas/find-persona.ts'
import { findSession } from '../sessions/find-session.ts'
import type { Amounts } from './amounts.ts'

/** The owner of the budget. */
export type BudgetOwner =
  | { kind: 'project'; project: string }
  | { kind: 'session'; sessionId: string }
  | { kind: 'persona'; project: string; id: string }

/** Set through the server that owns the project, so that it applies to a running turn; otherwise in the files. */
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
  // The owner's state in memory would overwrite this change.
  if (owner !== undefined) throw new ProjectLockedError(projectRoot, owner)
  const changed = { ...settings }
  for (const [name, limit] of Object.entries({
    budgetUsd: usd,
    budgetTokens: tokens,
    budgetMinutes: minutes,
  }))
    if (limit !== undefined) changed[name as 'budgetUsd'] = limit ?? undefined
  await new SessionStore().choose(sessionId, { settings: changed })
}

/** Undefined if no process owns the project, or a `chirality run` does. */
export async function serverOf(projectRoot: string): Promise<ServerFile | undefined> {
  const owner = await findProjectOwner(projectRoot)
  return owner && readServerFile(userDataFolder(), owner.address)
}

/** Writes the budget of a persona into the frontmatter of its file, and leaves everything else unchanged. */
async function setPersonaBudget(
  { project, id }: { project: string; id: string },
  { usd, tokens, minutes }: Amounts,
): Promise<void> {
  const { sourceFile } = await findPersona(new PersonaManager(), project, id)
  const path = join(project, sourceFile)
  if (!(await lstat(path)).isFile())
    throw new UsageError(
      `${sourceFile} is a link. Change budget_usd, budget_tokens or budget_minutes in it by hand.`,
    )
  const before = await readFile(path, 'utf8')
  const fields = { budget_usd: usd, budget_tokens: tokens, budget_minutes: minutes }
  await replace(path, withFields(before, fields))
  try {
    await findPersona(new PersonaManager(), project, id)
  } catch (error) {
    // The frontmatter is not in the form of one field for each line.
    await replace(path, before)
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(
      `${sourceFile} cannot be changed by this command (${reason}). Edit it by hand; it is as it was.`,
    )
  }
  await tell(
    `chirality: ${sourceFile} was changed. If you had allowed this persona, run "chirality personas allow ${id}" again.\n`,
  )
}

/** undefined leaves it unchanged, null removes it. */
export function withFields(text: string, fields: Record<string, number | null | undefined>): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const frontmatter = /^(\uFEFF?---[ \t]*\r?\n)([\s\S]*?)(^---[ \t]*(?:\r?\n|$))/m.exec(text)
  const [whole = '', open = `---${eol}`, yaml = '', close = `---${eol}`] =
    frontmatter?.index === 0 ? frontmatter : []
  let lines = yaml
  for (const [name, amount] of Object.entries(fields)) {
    if (amount === undefined) continue
    const line = new RegExp(`^${name}[ \\t]*:.*(?:\\r?\\n|$)`, 'm')
    const wanted = amount === null ? '' : `${name}: ${amount}${eol}`
    lines = line.test(lines) ? lines.replace(line, wanted) : `${lines}${wanted}`
  }
  return lines === '' && whole === '' ? text : `${open}${lines}${close}${text.slice(whole.length)}`
}

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: (await lstat(path)).mode & 0o777 })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
