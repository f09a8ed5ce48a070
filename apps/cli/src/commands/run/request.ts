import type { PermissionMode, SessionHarness, SessionMode } from '@chirality/core'
import { DEFAULT_MAX_TURNS, SESSION_MODES } from '@chirality/core'
import type { SessionBudget, TurnRequest } from '@chirality/sessions'
import { DEFAULT_HARNESS, RUN_HARNESS_IDS, type RunHarnesses } from '../../harnesses.ts'
import { oneOf, readOptions, wholeNumber } from '../../options.ts'
import { projectFolder } from '../../project-folder.ts'
import { RANGES, readAmount } from '../budget/amounts.ts'
import { readPersona } from './persona.ts'
import { readPrompt } from './prompt.ts'
import { refuseUnsupported } from './refuse-unsupported.ts'
import { readSession, type SessionChoice } from './session-choice.ts'
import { splitTools } from './split-tools.ts'

export interface RunRequest {
  harness: SessionHarness
  session: SessionChoice
  prompt: string
  turn: TurnRequest
  /** What the session may spend from now on. */
  budget: SessionBudget | undefined
  json: boolean
  /** As `chirality trust allow`, before the turn. */
  trustProject: boolean
  /** The first denial ends the turn, and the exit code says so. */
  failOnDenial: boolean
}

/** What to run, from the command line and stdin. Everything that can be wrong is checked before stdin is read. */
export async function readRequest(args: string[], harnesses: RunHarnesses): Promise<RunRequest> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const harnessId = oneOf('harness', values.harness, RUN_HARNESS_IDS)
  const mode: SessionMode | undefined = oneOf('mode', values.mode, SESSION_MODES)
  const permissionMode = oneOf('permission-mode', values['permission-mode'], PERMISSION_MODES)
  const timeoutS = wholeNumber('timeout', values.timeout, { min: 1, max: MAX_TIMEOUT_S })
  const maxTurns = wholeNumber('max-turns', values['max-turns'], { min: 1, max: MAX_TURNS })
  const budget = readBudget({
    usd: values['budget-usd'],
    tokens: values['budget-tokens'],
    minutes: values['budget-minutes'],
  })
  const autoApproveTools = values.allow === undefined ? undefined : splitTools(values.allow)
  if (harnessId !== undefined) refuseUnsupported(await harnesses.load(harnessId), values)
  const project = values.project === undefined ? undefined : await projectFolder(values.project)
  const wishes = { harness: harnessId, persona: values.persona, mode, model: values.model }
  const session = await readSession(values.session, project ?? (await projectFolder(undefined)), {
    ...wishes,
    namedProject: project,
  })
  const persona = await readPersona(session)
  const harness = await harnesses.load(session.harness ?? persona?.harness ?? DEFAULT_HARNESS)
  refuseUnsupported(harness, values)
  // Nobody watches: a limit always holds.
  const standing = persona?.maxTurns ?? session.maxTurns ?? DEFAULT_MAX_TURNS
  return {
    harness,
    session,
    prompt: await readPrompt(positionals, process.stdin),
    turn: {
      model: values.model,
      // Nobody is there to be asked. What a person or a persona chose for the session still holds.
      permissionMode: permissionMode ?? session.permissionMode ?? persona?.permissionMode ?? 'dontAsk',
      tools: values.tools,
      autoApproveTools,
      maxTurns: maxTurns ?? (harness.capabilities().supportsMaxTurns ? standing : undefined),
      timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
    },
    budget,
    json: values.json ?? false,
    trustProject: values['trust-project'] ?? false,
    failOnDenial: values['fail-on-denial'] ?? false,
  }
}

type BudgetUnit = keyof SessionBudget

function readBudget(given: Record<BudgetUnit, string | undefined>): SessionBudget | undefined {
  const budget: SessionBudget = {}
  for (const [unit, text] of Object.entries(given) as [BudgetUnit, string | undefined][])
    if (text !== undefined) budget[unit] = readAmount(`budget-${unit}`, text, RANGES[unit])
  return Object.keys(budget).length > 0 ? budget : undefined
}

const OPTIONS = {
  project: { type: 'string' },
  harness: { type: 'string' },
  persona: { type: 'string' },
  mode: { type: 'string' },
  model: { type: 'string' },
  session: { type: 'string' },
  'permission-mode': { type: 'string' },
  tools: { type: 'string', mayBeEmpty: true },
  allow: { type: 'string', mayBeEmpty: true },
  'max-turns': { type: 'string' },
  'budget-usd': { type: 'string' },
  'budget-tokens': { type: 'string' },
  'budget-minutes': { type: 'string' },
  timeout: { type: 'string' },
  'trust-project': { type: 'boolean' },
  'fail-on-denial': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

const PERMISSION_MODES: readonly PermissionMode[] = [
  'default',
  'acceptEdits',
  'dontAsk',
  'plan',
  'bypassPermissions',
]
/** A timer that is set further ahead fires at once. */
const MAX_TIMEOUT_S = 2_147_483
const MAX_TURNS = 1_000_000
