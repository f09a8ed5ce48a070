import type {
  AskedDecision,
  DecidedBy,
  HarnessTurnOpts,
  PermissionDecision,
  PermissionRequestEvent,
} from '@chirality/core'

export type Ask = NonNullable<HarnessTurnOpts['decide']>

/** Never rejects: no answer, a failed one and one that makes no sense all mean no. */
export async function askForDecision(
  decide: Ask | undefined,
  request: PermissionRequestEvent,
  signal: AbortSignal,
): Promise<AskedDecision> {
  if (!decide) return refused('Nobody is there to ask.')
  try {
    const decision: unknown = await decide(request, signal)
    if (!isDecision(decision)) return refused('The decision was neither yes nor no.')
    const { by, rule } = decision
    return { decision, by: isDecider(by) ? by : 'person', ...(typeof rule === 'string' ? { rule } : {}) }
  } catch (error) {
    return refused(`The decision failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const DECIDERS: Record<DecidedBy, true> = {
  ...{ person: true, policy: true, timeout: true },
  ...{ 'turn-end': true, failure: true },
}

function isDecider(value: unknown): value is DecidedBy {
  return typeof value === 'string' && Object.hasOwn(DECIDERS, value)
}

/** A changed input that is no object would reach the agent as who knows what. */
function isDecision(value: unknown): value is PermissionDecision {
  if (typeof value !== 'object' || value === null) return false
  const { behavior, updatedInput } = value as { behavior?: unknown; updatedInput?: unknown }
  if (behavior === 'deny') return true
  return behavior === 'allow' && (updatedInput === undefined || isObject(updatedInput))
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refused(message: string): AskedDecision {
  return { decision: { behavior: 'deny', message }, by: 'failure' }
}
