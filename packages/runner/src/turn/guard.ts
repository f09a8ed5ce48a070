import type { Guard, GuardedCall, GuardVerdict } from '@chirality/core'

/** Never rejects: a guard that fails, or says what makes no sense, has said no. */
export async function askGuard(guard: Guard, call: GuardedCall): Promise<GuardVerdict> {
  try {
    const verdict: GuardVerdict = await guard.judge(call)
    if (EFFECTS.has(verdict.effect)) return verdict
    return { effect: 'deny', reason: 'The guard said neither yes nor no.' }
  } catch (error) {
    return { effect: 'deny', reason: `The guard failed: ${error instanceof Error ? error.message : error}` }
  }
}

const EFFECTS: ReadonlySet<unknown> = new Set<GuardVerdict['effect']>(['pass', 'ask', 'deny'])
