import { realpath } from 'node:fs/promises'
import { PersonaManager } from '@chirality/personas'
import { BudgetBook } from '@chirality/sessions'
import { EXIT } from '../exit-code.ts'
import { readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { projectFolder } from '../project-folder.ts'
import { UsageError } from '../usage-error.ts'
import { chooseAction, noArgument } from './actions.ts'
import { AMOUNT_OPTIONS, type Amounts, readAmounts } from './budget/amounts.ts'
import type { BudgetOwner } from './budget/set-limits.ts'
import {
  type BudgetSheet,
  printSheet,
  sheetOfPersona,
  sheetOfProject,
  sheetOfSession,
} from './budget/sheet.ts'
import { findPersona } from './personas/find-persona.ts'
import { findSession } from './sessions/find-session.ts'

/** What a project, a session or a persona may spend, and has. */
export async function budget(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const { run, rest } = chooseAction('budget', positionals.length > 0 ? positionals : ['show'], ACTIONS)
  noArgument(rest)
  const { project, session, persona, json = false, ...given } = values
  if (session !== undefined && (persona !== undefined || project !== undefined))
    throw new UsageError('--session stands alone: its project and persona are known.')
  const whose = await findOwner({ project, session, persona })
  await printSheet(await run(whose, readAmounts(given)), { json, output })
  return EXIT.done
}

async function findOwner(given: {
  project: string | undefined
  session: string | undefined
  persona: string | undefined
}): Promise<BudgetOwner> {
  if (given.session !== undefined)
    return { kind: 'session', sessionId: (await findSession(given.session)).id }
  const project = await realpath(await projectFolder(given.project))
  return given.persona === undefined
    ? { kind: 'project', project }
    : { kind: 'persona', project, id: given.persona }
}

const ACTIONS = { show, set }

async function show(owner: BudgetOwner, amounts: Amounts): Promise<BudgetSheet> {
  const [option] = Object.keys(amounts)
  if (option !== undefined)
    throw new UsageError(`--${option} changes a budget. Write "chirality budget set".`)
  return sheetOf(owner)
}

async function set(owner: BudgetOwner, amounts: Amounts): Promise<BudgetSheet> {
  if (Object.keys(amounts).length === 0)
    throw new UsageError('Say which limit: --usd, --tokens, --minutes or --turns, each a number or none.')
  if (owner.kind !== 'project' && amounts.turns !== undefined)
    throw new UsageError('--turns is a limit of a project: leave out --session and --persona.')
  // Loaded only now: to show a budget asks no server.
  const { setLimits } = await import('./budget/set-limits.ts')
  await setLimits(owner, amounts)
  return sheetOf(owner)
}

async function sheetOf(owner: BudgetOwner): Promise<BudgetSheet> {
  switch (owner.kind) {
    case 'project':
      return sheetOfProject(owner.project, await new BudgetBook().read(owner.project))
    case 'session':
      return sheetOfSession(await findSession(owner.sessionId))
    case 'persona':
      return sheetOfPersona(await findPersona(new PersonaManager(), owner.project, owner.id))
  }
}

const OPTIONS = {
  project: { type: 'string' },
  session: { type: 'string' },
  persona: { type: 'string' },
  ...AMOUNT_OPTIONS,
  json: { type: 'boolean' },
} as const
