import type { ReadStream } from 'node:tty'
import {
  CAGE_LEVELS,
  DEFAULT_MAX_TURNS,
  type HarnessCapabilities,
  type PermissionMode,
  SESSION_MODES,
  type SessionHarness,
  type SessionMode,
} from '@chirality/core'
import { type PersonaConfig, PersonaManager } from '@chirality/personas'
import {
  PersonaConsent,
  type SessionBudget,
  TrustStore,
  type TurnRequest,
  withoutGrants,
} from '@chirality/sessions'
import { UsageError } from '../../exit-code.ts'
import { DEFAULT_HARNESS, harnessIds, namedHarness, type RunHarnesses } from '../../harnesses.ts'
import { oneOf, projectFolder, readOptions, wholeNumber } from '../../options.ts'
import { RANGES, readAmount } from '../budget/amounts.ts'
import { findPersona } from '../personas/find-persona.ts'
import { requireConversation } from './require-conversation.ts'
import { readSession, type SessionChoice } from './session-choice.ts'

export interface RunRequest {
  harness: SessionHarness
  session: SessionChoice
  prompt: string
  turn: TurnRequest
  /** The session's limits from now on. */
  budget: SessionBudget | undefined
  json: boolean
  /** Like `chirality trust allow`, before the turn. */
  trustProject: boolean
  /** Allows the set-up file of the project as it is now. */
  allowSetup: boolean
  /** The first denial ends the turn, and sets the exit code. */
  failOnDenial: boolean
}

/** The turn to run, from the command line and stdin. All options are checked before stdin is read. */
export async function readRequest(args: string[], harnesses: RunHarnesses): Promise<RunRequest> {
  const { values, positionals } = readOptions(args, OPTIONS)
  const harnessId = await namedHarness(values.harness)
  const mode: SessionMode | undefined = oneOf('mode', values.mode, SESSION_MODES)
  const permissionMode = oneOf('permission-mode', values['permission-mode'], PERMISSION_MODES)
  const cage = oneOf('cage', values.cage, CAGE_LEVELS)
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
  if (values.base !== undefined && !values.worktree) throw new UsageError('--base goes with --worktree.')
  if (values['allow-setup'] && !values.worktree && values.session === undefined)
    throw new UsageError('--allow-setup goes with --worktree.')
  const worktree = values.worktree ? (values.base === undefined ? {} : { base: values.base }) : undefined
  const wishes = { harness: harnessId, persona: values.persona, mode, model: values.model, worktree }
  const chosen = await readSession(values.session, project ?? (await projectFolder(undefined)), {
    ...wishes,
    namedProject: project,
  })
  // Imported on demand: few turns name a machine.
  const session =
    values.where === undefined ? chosen : await (await import('./where.ts')).placed(values.where, chosen)
  if (session.machine !== undefined) refuseHere(session.machine, values)
  // That of another machine's session is a file there.
  const persona = session.machine === undefined ? await readPersona(session) : null
  const agent = session.harness ?? persona?.harness ?? DEFAULT_HARNESS
  // Another machine may have agents that this one does not know.
  const isKnown = session.machine === undefined || (await harnessIds()).includes(agent)
  const harness = await harnesses.load(isKnown ? agent : DEFAULT_HARNESS)
  if (isKnown) refuseUnsupported(harness, values)
  if (session.nativeSessionId !== null) await requireConversation(harness, harnesses, session)
  // Nobody watches the turn, so a limit always applies.
  const standing = persona?.maxTurns ?? session.maxTurns ?? DEFAULT_MAX_TURNS
  return {
    harness,
    session,
    prompt: await readPrompt(positionals, process.stdin),
    turn: {
      model: values.model,
      // Nobody can be asked. A mode that a person or a persona chose for the session still applies.
      permissionMode: permissionMode ?? session.permissionMode ?? persona?.permissionMode ?? 'dontAsk',
      cage,
      tools: values.tools,
      autoApproveTools,
      maxTurns: maxTurns ?? (harness.capabilities().supportsMaxTurns ? standing : undefined),
      timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
    },
    budget,
    json: values.json ?? false,
    trustProject: values['trust-project'] ?? false,
    allowSetup: values['allow-setup'] ?? false,
    failOnDenial: values['fail-on-denial'] ?? false,
  }
}

/** What is about files of this machine does not reach another one. */
function refuseHere(machine: string, values: { 'trust-project'?: boolean; 'allow-setup'?: boolean }): void {
  const option = (['trust-project', 'allow-setup'] as const).find(name => values[name])
  if (option !== undefined)
    throw new UsageError(`--${option} is for this machine: the session is on ${machine}. Say it there.`)
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
  where: { type: 'string' },
  worktree: { type: 'boolean' },
  base: { type: 'string' },
  'allow-setup': { type: 'boolean' },
  harness: { type: 'string' },
  persona: { type: 'string' },
  mode: { type: 'string' },
  model: { type: 'string' },
  session: { type: 'string' },
  'permission-mode': { type: 'string' },
  cage: { type: 'string' },
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
  'auto',
  'dontAsk',
  'plan',
  'bypassPermissions',
]
/** A timer with a longer delay fires at once. */
const MAX_TIMEOUT_S = 2_147_483
const MAX_TURNS = 1_000_000

/**
 * The persona of the session, if it has one; checked before any money is spent. The packages are imported by name: with
 * `import()` of a whole package, this command's bundle would contain all of it, and every turn would load code that
 * only exports need.
 */
async function readPersona({ projectRoot, persona }: SessionChoice): Promise<PersonaConfig | null> {
  if (persona === null) return null
  const personas = new PersonaManager()
  const found = await findPersona(personas, projectRoot, persona)
  const consent = await new PersonaConsent(personas, new TrustStore()).load(projectRoot, persona)
  // Its permissions count only as far as the user granted them.
  return consent?.isAllowed ? found : withoutGrants(found, 'dontAsk')
}

/** The prompt argument, or all of stdin. */
export async function readPrompt(
  positionals: string[],
  stdin: Pick<ReadStream, 'isTTY'> & AsyncIterable<unknown>,
): Promise<string> {
  const [given, ...more] = positionals
  if (more.length > 0) {
    throw new UsageError(
      `One prompt is expected, ${positionals.length} were given. Put it in quotes if it has spaces.`,
    )
  }
  if (given === undefined && stdin.isTTY) {
    throw new UsageError('No prompt. Give one in quotes, or "-" to read it from stdin.')
  }
  const prompt = given === undefined || given === '-' ? await readAll(stdin) : given
  if (prompt.trim() === '') throw new UsageError('The prompt is empty. Say what the agent should do.')
  return prompt
}

async function readAll(stdin: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Splits `Read,Bash(git log, git diff)` into its two names: a comma in brackets belongs to the pattern. */
export function splitTools(list: string): string[] {
  const names: string[] = []
  let depth = 0
  let name = ''
  for (const char of list) {
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth < 0) break
    if (char === ',' && depth === 0) {
      names.push(name)
      name = ''
    } else name += char
  }
  if (depth !== 0) throw new UsageError(`--allow has an unbalanced bracket: ${list}`)
  return [...names, name].map(part => part.trim()).filter(part => part !== '')
}

/** A limit that the agent lacks is refused: the user would rely on it, and it would not hold. */
export function refuseUnsupported(harness: SessionHarness, given: Readonly<Record<string, unknown>>): void {
  const can = harness.capabilities()
  const refused = NEEDS.find(({ option, capability }) => given[option] !== undefined && !can[capability])
  if (!refused) return
  const { option, lacks, instead } = refused
  throw new UsageError(
    `--${option} does not work with ${harness.id}: ${harness.meta().name} ${lacks}. ${instead}`,
  )
}

const PERMISSIONS = { lacks: 'has no tools to choose by name', instead: 'Use --permission-mode.' }

const NEEDS: readonly {
  option: string
  capability: keyof HarnessCapabilities
  lacks: string
  instead: string
}[] = [
  { option: 'tools', capability: 'supportsNamedTools', ...PERMISSIONS },
  { option: 'allow', capability: 'supportsNamedTools', ...PERMISSIONS },
  {
    option: 'max-turns',
    capability: 'supportsMaxTurns',
    lacks: 'counts no rounds',
    instead: 'Use --timeout.',
  },
]
