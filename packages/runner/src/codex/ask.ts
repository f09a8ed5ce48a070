import type { HarnessTurnOpts, PermissionDecision, PermissionRequestEvent } from '@chirality/core'

export type Ask = NonNullable<HarnessTurnOpts['decide']>

export interface AskedDecision {
  decision: PermissionDecision
  by: 'person' | 'policy'
}

/** Never rejects: no answer, a failed one and one that makes no sense all mean no. */
export async function askForDecision(
  decide: Ask | undefined,
  request: PermissionRequestEvent,
  signal: AbortSignal,
): Promise<AskedDecision> {
  if (!decide) return refused('Nobody is there to ask.')
  try {
    const decision: PermissionDecision | undefined = await decide(request, signal)
    if (decision?.behavior === 'allow' || decision?.behavior === 'deny') return { decision, by: 'person' }
    return refused('The decision was neither yes nor no.')
  } catch (error) {
    return refused(`The decision failed: ${String(error)}`)
  }
}

function refused(message: string): AskedDecision {
  return { decision: { behavior: 'deny', message }, by: 'policy' }
}
