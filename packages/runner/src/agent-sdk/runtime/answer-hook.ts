import type { AgentSdkHarnessConfig } from '../config.ts'
import type { WorkerResponse } from '../protocol/worker-messages.ts'
import { block, mapDecision } from './decision-mapper.ts'
import { translateHook } from './event-translator.ts'

/** What a hook is answered with. Never rejects: whoever decides and fails has said no. */
export async function answerHook(
  { requestId, hookName, hookInput }: Extract<WorkerResponse, { type: 'hook_event' }>,
  { onRuntimeEvent }: Pick<AgentSdkHarnessConfig, 'onRuntimeEvent'>,
): Promise<Record<string, unknown>> {
  const event = translateHook(requestId, hookName, hookInput)
  try {
    const decided = onRuntimeEvent?.(event)
    if (event.expectsDecision) return mapDecision(hookName, (await decided) ?? { type: 'passthrough' })
    // Nobody waits for one who is only told.
    void Promise.resolve(decided).catch(() => {})
  } catch (error) {
    if (event.expectsDecision) return block(hookName, `The decision failed: ${String(error)}`)
  }
  return {}
}
