import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeModelRefusalEvent } from '../../../native/claude/system-events.ts'
import { asText } from '../../../native/loose.ts'
import type { Scope, TranslatorState } from '../state.ts'
import { status } from '../ui.ts'

/**
 * One version tells of a refusal in a system event, another only in the stop reason or in the message it writes in the
 * user's name: whichever comes first counts, once per answer.
 */
export function reportRefusal(
  state: TranslatorState,
  scope: Scope,
  event?: ClaudeModelRefusalEvent,
): UIEvent[] {
  if (scope.refused) return []
  scope.refused = true
  return [
    status(state, 'refused', {
      message: asText(event?.content) ?? 'The model refused to go on',
      level: 'warn',
      parentToolUseId: scope.parentToolUseId,
      data: {
        model: asText(event?.original_model) ?? scope.model,
        category: asText(event?.api_refusal_category),
        explanation: asText(event?.api_refusal_explanation),
      },
    }),
  ]
}
