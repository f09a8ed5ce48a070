import {
  type CageLevel,
  DEFAULT_MAX_TURNS,
  type HarnessCapabilities,
  HarnessError,
  type HarnessId,
  type HarnessTurnOpts,
  type McpServerConfig,
  type PermissionMode,
  permissionLabel,
  type SessionHarness,
  strictestCage,
} from '@chirality/core'
import {
  type PersonaConfig,
  type PersonaManager,
  type PolicyRule,
  type PromptChoices,
  parsePolicyRule,
  personaTurnOpts,
} from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import { type AskContext, type PolicyGuard, policyError } from '../decisions/ask-context.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import { startError } from '../session-errors.ts'
import type { StoredSession } from '../store/stored-session.ts'
import {
  consentNotice,
  type PersonaConsent,
  type PersonaWithConsent,
  withoutGrants,
} from '../trust/persona-consent.ts'
import type { ProjectTrustState } from '../trust/project-trust.ts'

export interface TurnChoice {
  opts: HarnessTurnOpts
  /** Notices about requested options that the harness lacks. */
  warnings: string[]
  /** The project's files that this agent would run. */
  trust?: ProjectTrustState
}

export interface PlanOptions {
  session: StoredSession
  persona: PersonaWithConsent | null
  harness: SessionHarness
  request: TurnRequest
  personas: PersonaManager
  /** The worktree, if the session works in one. */
  workFolder?: string | undefined
  decide?: HarnessTurnOpts['decide']
  trust?: ProjectTrustState
  /** What the user set for the project. */
  cage?: CageLevel
  /** The user's own tool servers for this turn. */
  toolServers?: Record<string, McpServerConfig>
  /** The checks for a turn in this mode, whether or not the agent asks. */
  guard?: (mode: PermissionMode) => Promise<PolicyGuard | undefined>
}

/**
 * The options of a turn: the session's settings, overridden by the persona's, overridden by the request's. An option
 * that the harness lacks is left out, with a notice; if leaving it out would change what was requested, the turn is
 * refused.
 */
export async function planTurn(options: PlanOptions): Promise<TurnChoice> {
  const { session, persona, harness, request, personas, trust } = options
  const capabilities = harness.capabilities()
  const { timeoutMs: _t, decisionTimeoutMs: _d, maxBudgetTokens: _m, ...rest } = request
  const { signal: _s, retryOfTurnId: _r, unattended, ...asked } = rest
  const decide = capabilities.supportsDecisions ? options.decide : undefined
  // If nobody can answer, requests are denied. A pipeline has nobody who watches it.
  const isWatched = session.mode !== 'pipeline'
  const byItself = decide && isWatched ? 'default' : 'dontAsk'
  const held = (mode: PermissionMode | undefined) =>
    mode === 'auto' && capabilities.supportsAutoMode !== true ? byItself : mode
  const permissionMode = held(session.settings.permissionMode) ?? byItself
  const { opts: scoped, warnings: unmet } = scopeOf(persona, permissionMode, harness)
  // The host itself enforces a persona's budget, over all turns of the session.
  const { maxBudgetUsd: _budget, ...limits } = scoped
  const { budgetUsd: _usd, budgetTokens: _tokens, budgetMinutes: _min, ...settings } = session.settings
  const { projectRoot, mode } = session
  const append = asked.systemPromptAppend
  const trustProject = trust?.isTrusted ?? false
  const place = options.workFolder ?? projectRoot
  const prompt = await personas.composePrompt(projectRoot, persona?.persona ?? null, mode, {
    append,
    agentsFile: toldOf(await harness.readsAgentsFile?.(place, { trustProject })),
  })
  await personas.savePrompt(session.projectRoot, session.id, prompt.text)
  const wanted: HarnessTurnOpts = {
    ...(capabilities.supportsMaxTurns ? { maxTurns: roundsOf(isWatched, unattended) } : {}),
    ...definedOnly(settings),
    permissionMode,
    ...(capabilities.supportsMcp ? ownServers(options.toolServers) : {}),
    ...definedOnly(limits),
    ...definedOnly({ ...asked, permissionMode: held(asked.permissionMode) }),
    // Servers that the request names are the only ones.
    ...(asked.mcpServers === undefined ? {} : { keepOwnMcpServers: false }),
    systemPromptAppend: prompt.text,
    ...(decide ? { decide } : {}),
    trustProject,
    // Nothing lowers it: neither the turn nor a file of the project.
    cage: strictestCage(options.cage, persona?.persona.cage, asked.cage),
  }
  const chosen = asked.permissionMode ?? session.settings.permissionMode
  const guard = await options.guard?.(wanted.permissionMode ?? permissionMode)
  const { opts, warnings } = withinCapabilities(withGuard(wanted, guard, harness), capabilities, harness.id)
  const broken = guard?.problem === undefined ? [] : [policyError(guard.problem)]
  const unheld = harness.unheldRules?.(guard?.rules ?? [], wanted.permissionMode ?? permissionMode) ?? []
  const hidden = harness.commandSandbox?.(place, opts.permissionMode)?.problem
  return {
    opts,
    warnings: [
      ...[...broken, ...unheld, ...unmet, ...prompt.warnings, ...warnings],
      ...(held(chosen) === chosen ? [] : [noAutoMode(harness.id, byItself)]),
      ...(hidden === undefined ? [] : [hidden]),
    ],
    ...(trust ? { trust } : {}),
  }
}

/** How much of AGENTS.md the agent is told. */
function toldOf(isRead: boolean | undefined): PromptChoices['agentsFile'] {
  if (isRead === undefined) return 'head'
  return isRead ? 'none' : 'whole'
}

function noAutoMode(harnessId: HarnessId, instead: PermissionMode): string {
  const [wanted, used] = [permissionLabel('auto'), permissionLabel(instead)]
  return `${harnessId} has no mode "${wanted}". This turn runs in the mode "${used}".`
}

/** A person who watches can stop a turn that goes round in circles; without one it would go on forever. */
function roundsOf(isWatched: boolean, unattended = false): number | null {
  if (!isWatched) return DEFAULT_MAX_TURNS
  return unattended ? UNATTENDED_MAX_TURNS : null
}

/** A task of a loop is a whole piece of work, and its turns go on from each other. */
const UNATTENDED_MAX_TURNS = 100

function ownServers(servers: Record<string, McpServerConfig> = {}): Partial<HarnessTurnOpts> {
  return Object.keys(servers).length === 0 ? {} : { mcpServers: servers, keepOwnMcpServers: true }
}

function scopeOf(
  chosen: PersonaWithConsent | null,
  mode: PermissionMode,
  harness: SessionHarness,
): ReturnType<typeof personaTurnOpts> {
  if (chosen === null) return { opts: {}, warnings: [] }
  const { persona, isAllowed } = chosen
  const scope = isAllowed ? persona : withoutGrants(persona, mode)
  const { opts, warnings } = personaTurnOpts(
    scope,
    { ...harness.capabilities(), supportsCostTracking: true },
    harness.id,
  )
  return { opts, warnings: isAllowed ? warnings : [consentNotice(chosen), ...warnings] }
}

/** A harness that sends no requests gets the rules beforehand; if it cannot apply them, the turn is refused. */
function withGuard(
  wanted: HarnessTurnOpts,
  guard: PolicyGuard | undefined,
  harness: SessionHarness,
): HarnessTurnOpts {
  const { supportsDecisions, supportsNamedTools } = harness.capabilities()
  if (guard === undefined || supportsDecisions) return guard === undefined ? wanted : { ...wanted, guard }
  if (!guard.hasRules) return wanted
  const unknown = guard.rules.find(({ tool }) => tool.includes('*'))
  const isHeld = wanted.permissionMode === 'plan' || wanted.permissionMode === 'dontAsk'
  if (unknown !== undefined || (!supportsNamedTools && !isHeld)) {
    const rule = unknown === undefined ? 'your rules' : `the rule "${unknown.text}"`
    const message = `${harness.id} asks nobody in this form and cannot be held to ${rule}. Choose another agent, or the mode dontAsk without that rule.`
    throw startError('unsupported', message)
  }
  if (!supportsNamedTools) return wanted
  const denied = guard.rules.map(({ tool, pattern }) =>
    pattern === undefined ? tool : `${tool}(${pattern})`,
  )
  const { disallowedToolsOverride: override, disallowedTools = [] } = wanted
  if (override !== undefined) return { ...wanted, disallowedToolsOverride: [...override, ...denied] }
  return { ...wanted, disallowedTools: [...disallowedTools, ...denied] }
}

/** Removes options that this harness lacks, and names them. */
function withinCapabilities(
  wanted: HarnessTurnOpts,
  capabilities: HarnessCapabilities,
  harnessId: HarnessId,
): { opts: HarnessTurnOpts; warnings: string[] } {
  const opts = { ...wanted }
  const warnings: string[] = []
  if (opts.images?.length && !capabilities.supportsImages)
    throw startError('unsupported', `${harnessId} takes no images. Send the message without them.`)
  const isAsked = opts.decide !== undefined && ASKING_MODES.has(opts.permissionMode)
  for (const [option, capability, effect] of OPTIONAL) {
    if (capabilities[capability] || isEmpty(opts[option])) continue
    delete opts[option]
    if (isAsked && (option === 'autoApproveTools' || option === 'autoApproveToolsOverride')) continue
    if (effect !== null) warnings.push(`${harnessId} does not take ${option}: ${effect}`)
  }
  return { opts, warnings }
}

/** In these an agent asks before its calls, and the host answers by the list of the turn: see `allowsOf`. */
const ASKING_MODES: ReadonlySet<PermissionMode | undefined> = new Set(['default', 'acceptEdits'])

/** What the caller of a turn lets an agent do that cannot be told tools by name, without what is denied. */
export function allowsOf(
  request: TurnRequest,
  persona: PersonaConfig | null,
  harness: SessionHarness,
): Pick<AskContext, 'allows' | 'denies'> {
  const { autoApproveTools, autoApproveToolsOverride: tools = autoApproveTools } = request
  if (harness.capabilities().supportsNamedTools || tools === undefined) return {}
  const { disallowedTools = [], disallowedToolsOverride: override } = request
  const denied = override ?? [...disallowedTools, ...(persona?.disallowedTools ?? [])]
  return {
    allows: tools.flatMap(tool => parsePolicyRule(`allow ${tool}`, 1).rule ?? []),
    // One that cannot be read may mean any call.
    denies: denied.map(tool => parsePolicyRule(`deny ${tool}`, 1).rule ?? DENY_ALL),
  }
}

const DENY_ALL: PolicyRule = { effect: 'deny', tool: '*', line: 1, text: 'deny *' }

/** The host enforces budgets itself, so an agent that lacks them is no loss. */
const OPTIONAL: readonly [keyof HarnessTurnOpts, keyof HarnessCapabilities, string | null][] = [
  [
    'systemPromptAppend',
    'supportsAppendSystemPrompt',
    'the project and the persona are not explained to it.',
  ],
  ['tools', 'supportsNamedTools', 'it has its own set of tools.'],
  ['toolsOverride', 'supportsNamedTools', 'it has its own set of tools.'],
  ['disallowedTools', 'supportsNamedTools', 'it cannot be denied them.'],
  ['disallowedToolsOverride', 'supportsNamedTools', 'it cannot be denied them.'],
  ['autoApproveTools', 'supportsNamedTools', 'it approves by sandbox.'],
  ['autoApproveToolsOverride', 'supportsNamedTools', 'it approves by sandbox.'],
  ['maxTurns', 'supportsMaxTurns', 'it counts no rounds.'],
  ['maxBudgetUsd', 'supportsBudget', null],
  ['mcpServers', 'supportsMcp', 'they are not there in this turn.'],
  ['clientTools', 'supportsClientTools', 'they are not there in this turn.'],
  ['forkSession', 'supportsFork', 'it begins a new conversation and does not know the old one.'],
]

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0)
  )
}

/** An option with the value undefined would replace the value below it in a spread. */
function definedOnly<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** The session's persona by its current file. Throws if there is none, or it cannot be used. */
export async function choosePersona(
  { persona: id, projectRoot }: Pick<StoredSession, 'persona' | 'projectRoot'>,
  consent: PersonaConsent,
): Promise<PersonaWithConsent | null> {
  if (id === null) return null
  const persona = await consent.load(projectRoot, id)
  if (persona !== null) return persona
  throw startError(
    'persona',
    `There is no persona ${id} in this project. Write agents/AGENT_${id}.md, or choose another one.`,
  )
}

/** The session's own; else the one its persona names; else the first registered one. */
export function chooseHarness(
  { harness }: Pick<StoredSession, 'harness'>,
  persona: PersonaConfig | null,
  harnesses: HarnessRegistry<SessionHarness>,
): SessionHarness {
  const wanted = harness ?? persona?.harness
  if (wanted !== undefined && wanted !== null) return harnesses.getOrThrow(wanted)
  const [first] = harnesses.getAll()
  if (first !== undefined) return first
  throw new HarnessError('No harness is registered.', 'not_installed', 'none')
}
