import { realpathSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type AskedDecision,
  decisionTold,
  editsOf,
  elicitationContent,
  type Guard,
  type GuardRule,
  type HarnessQuery,
  type PermissionDecision,
  type PermissionRequestEvent,
  type UIEvent,
} from '@chirality/core'
import { asObject, asObjects, asText } from '../common/json.ts'
import { askGuard, denied, givenAs, notAsked } from '../turn/questions.ts'

export const ELICITATION = 'elicitation/create'

const CANCELLED = { outcome: { outcome: 'cancelled' } }

/** The answer of a client that has stopped the turn. */
export function cancelled(method: string): object {
  return method === ELICITATION ? { action: 'cancel' } : CANCELLED
}

/** The decision of the rules and the mode, if they decide without a person. */
export async function ruleOf(
  request: PermissionRequestEvent,
  allowed: ReadonlySet<string>,
  { guard, query, ownServer }: { guard?: Guard | undefined; query: HarnessQuery; ownServer: string },
): Promise<AskedDecision | undefined> {
  const { kind, toolName, input, toolUseId } = request
  // The handler of a client tool is the caller's own.
  if (toolName.startsWith(`mcp__${ownServer}__`)) return allow('a tool of Chirality')
  const call = { toolName, input, ...(toolUseId === undefined ? {} : { toolUseId }) }
  const verdict = guard ? await askGuard(guard, call) : { effect: 'pass' as const }
  if (verdict.effect === 'deny') return denied(verdict)
  // A form runs nothing, and a plan may depend on its answers.
  if (query.permissionMode === 'plan' && kind === 'question' && toolName === 'elicitation') return undefined
  const mode = `permission mode ${query.permissionMode}`
  if (verdict.effect === 'pass' && allowed.has(callKey(request))) return allow('allowed for this session')
  // Before what the guard asks about: nobody would answer.
  if (query.permissionMode === 'dontAsk' || query.permissionMode === 'plan')
    return notAsked(query.permissionMode)
  if (verdict.effect === 'ask') return undefined
  // Which of several answers is meant only a person can say. Longer ones beside a single "once" are no such choice.
  const once = asObjects(request.suggestions).filter(option => option.kind === 'allow_once')
  if (kind !== 'tool' && once.length !== 1) return undefined
  if (query.permissionMode === 'bypassPermissions') return allow(mode)
  return query.permissionMode === 'acceptEdits' && editsInside(request, query.cwd) ? allow(mode) : undefined
}

function allow(rule: string): AskedDecision {
  return { decision: { behavior: 'allow' }, by: 'policy', rule }
}

/** Every file that the call changes is known and in the folder. */
function editsInside({ toolName, input, facts }: PermissionRequestEvent, cwd: string): boolean {
  const edits = facts?.kind === 'edit' ? editsOf({ facts, name: toolName, input }) : []
  const root = realPathOf(cwd)
  return (
    edits.length > 0 &&
    edits.every(({ path: file, movedTo }) =>
      [file, ...(movedTo === undefined ? [] : [movedTo])].every(place =>
        realPathOf(path.resolve(cwd, place)).startsWith(`${root}${path.sep}`),
      ),
    )
  )
}

/** The real path, also of a file that does not exist yet. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    const parent = path.dirname(file)
    return parent === file ? file : path.join(realPathOf(parent), path.basename(file))
  }
}

/** The answer for the agent: one of the options that it offers, chosen by kind, and never one that allows for longer. */
export function acpAnswer(
  request: PermissionRequestEvent,
  asked: AskedDecision,
  allowed: Set<string>,
): { result: unknown; told: UIEvent } {
  const options = asObjects(request.suggestions)
  const decision = possible(request, asked.decision)
  const isYes = decision.behavior === 'allow'
  const named = isYes ? chosenName(request, decision) : undefined
  const byName = named === undefined ? undefined : options.find(given => nameOf(given) === named)
  const kinds = isYes ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const option = byName ?? kinds.flatMap(kind => options.filter(given => given.kind === kind))[0]
  if (isYes && decision.remember) allowed.add(callKey(request))
  const optionId = asText(option?.optionId)
  if (optionId !== undefined) {
    const isLonger = isYes && byName === undefined && option?.kind === 'allow_always'
    const note = isLonger ? `The agent offers only: ${String(option.name)}.` : undefined
    const result = { outcome: { outcome: 'selected', optionId } }
    return { result, told: decisionTold(request, givenAs(asked, decision), note) }
  }
  // Without a way to say yes, nothing may run.
  const refused: PermissionDecision = isYes
    ? { behavior: 'deny', message: 'The agent offers no way to allow this.' }
    : decision
  return { result: CANCELLED, told: decisionTold(request, givenAs(asked, refused)) }
}

/** A filled form, or a refusal to fill it in. */
export function formAnswer(
  params: Record<string, unknown>,
  request: PermissionRequestEvent,
  asked: AskedDecision,
): { result: unknown; told: UIEvent } {
  const { decision } = asked
  if (decision.behavior === 'deny') {
    const action = decision.interrupt ? 'cancel' : 'decline'
    return { result: { action }, told: decisionTold(request, asked) }
  }
  const content = elicitationContent(params, asObject(decision.updatedInput?.answers))
  if (typeof content !== 'string')
    return { result: { action: 'accept', content }, told: decisionTold(request, asked) }
  // What does not fit the form must not be passed on.
  const denial: PermissionDecision = { behavior: 'deny', message: content }
  return { result: { action: 'decline' }, told: decisionTold(request, givenAs(asked, denial)) }
}

/** The agent runs what it asked about or nothing: a changed input must not run unchanged. */
function possible(request: PermissionRequestEvent, decision: PermissionDecision): PermissionDecision {
  if (decision.behavior === 'deny' || decision.updatedInput === undefined) return decision
  const { answers: _answers, ...input } = decision.updatedInput
  if (!isDeepStrictEqual(input, request.input)) {
    const message =
      'This agent cannot run a changed input, so it was denied. Tell the agent what to do instead.'
    return { behavior: 'deny', message }
  }
  const named = chosenName(request, decision)
  if (named === undefined || asObjects(request.suggestions).some(option => nameOf(option) === named))
    return decision
  return { behavior: 'deny', message: `"${named}" is none of the agent's options, so it was denied.` }
}

/** The name that a person is shown. */
function nameOf({ name, optionId }: Record<string, unknown>): string {
  return asText(name) ?? String(optionId)
}

/** What a person chose of several options. */
function chosenName(
  { kind }: PermissionRequestEvent,
  { updatedInput }: PermissionDecision & { behavior: 'allow' },
) {
  if (kind !== 'question') return undefined
  const answers = updatedInput?.answers
  const [first] = typeof answers === 'object' && answers !== null ? Object.values(answers) : []
  return Array.isArray(first) ? asText(first[0]) : asText(first)
}

function callKey({ toolName, input }: PermissionRequestEvent): string {
  return JSON.stringify([toolName, input])
}

/** The protocol lets an agent decide what it asks about, so no rule can be promised to hold. */
export function unheldByAcp(name: string): (rules: readonly GuardRule[]) => string[] {
  return rules =>
    rules.flatMap(({ effect, tool, pattern }) => {
      if (effect === 'allow') return []
      const rule = `${effect} ${tool}${pattern === undefined ? '' : `(${pattern})`}`
      return [`"${rule}" holds only for what ${name} asks about: this agent decides itself what it asks.`]
    })
}
