import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { readTextCarefully, writeFileAtomic } from '@chirality/disk'
import { MAX_PERSONA_BYTES, PersonaManager } from '@chirality/personas'
import {
  BudgetBook,
  findProjectOwner,
  ProjectLockedError,
  SessionStore,
  type StoredSession,
} from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { hubServer } from '../../fleet-sessions.ts'
import { tell } from '../../output.ts'
import { serverOf } from '../../running-server.ts'
import { findPersona } from '../personas/find-persona.ts'
import type { FoundSession } from '../sessions/find-anywhere.ts'
import type { Amounts } from './amounts.ts'

/** The owner of the budget. */
export type BudgetOwner =
  | { kind: 'project'; project: string }
  | { kind: 'session'; found: FoundSession }
  | { kind: 'persona'; project: string; id: string }

/**
 * Set through the server that owns the project, so that it applies to a running turn; otherwise in the files. That of a
 * session of another machine is set there, through the hub. Resolves with what has the limits then.
 */
export async function setLimits(owner: BudgetOwner, amounts: Amounts): Promise<BudgetOwner> {
  if (owner.kind === 'session')
    return { ...owner, found: { ...owner.found, session: await setOfSession(owner.found, amounts) } }
  if (owner.kind === 'project') await setOfProject(owner.project, amounts)
  else await setPersonaBudget(owner, amounts)
  return owner
}

async function setOfProject(project: string, { usd, tokens, minutes, turns }: Amounts): Promise<void> {
  const server = await serverOf(project)
  if (server !== undefined) {
    const limits = { maxCostUsd: usd, maxTokens: tokens, maxMinutes: minutes, maxIterations: turns }
    await server.calls.budgets.set.mutate({ project, ...limits })
    return
  }
  const limits = { max_cost_usd: usd, max_tokens: tokens, max_minutes: minutes, max_iterations: turns }
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
  await new BudgetBook().setLimits(project, Object.fromEntries(given))
}

async function setOfSession(
  { session, machine }: FoundSession,
  { usd, tokens, minutes }: Amounts,
): Promise<StoredSession> {
  const { id: sessionId, projectRoot, settings } = session
  const server = machine === undefined ? await serverOf(projectRoot) : await hubServer(machine)
  if (server !== undefined) {
    const limits = { budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes }
    return server.calls.budgets.setSession.mutate({ sessionId, ...limits })
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
  return new SessionStore().choose(sessionId, { settings: changed })
}

/** Writes the budget of a persona into the frontmatter of its file, and leaves everything else unchanged. */
async function setPersonaBudget(
  { project, id }: { project: string; id: string },
  { usd, tokens, minutes }: Amounts,
): Promise<void> {
  const { sourceFile } = await findPersona(new PersonaManager(), project, id)
  const path = join(project, sourceFile)
  const read = await readTextCarefully({
    ...{ root: project, path: sourceFile, links: 'none', maxBytes: MAX_PERSONA_BYTES },
  })
  if (read === undefined || 'fault' in read)
    throw new UsageError(
      `${read?.fault.message ?? `${sourceFile} is gone.`} Change budget_usd, budget_tokens or budget_minutes in it by hand.`,
    )
  const before = read.text
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
  await writeFileAtomic(path, text, { mode: (await lstat(path)).mode & 0o777 })
}
