import type { UIEvent } from '../../../events/ui-event.ts'
import type { ClaudeHookEvent } from '../../../native/claude/system-events.ts'
import { asNumber, asText } from '../../../native/loose.ts'
import type { TranslatorState } from '../state.ts'
import { headline, status } from '../ui.ts'

/** A hook that succeeds and prints nothing is not worth a line. */
export function translateHook(state: TranslatorState, event: ClaudeHookEvent): UIEvent[] {
  if (event.subtype === 'hook_started') return []
  const exitCode = asNumber(event.exit_code)
  const outcome = asText(event.outcome)
  const output = (asText(event.output) ?? asText(event.stderr) ?? asText(event.stdout) ?? '').trim()
  const failed =
    event.subtype === 'hook_response' && ((outcome ?? 'success') !== 'success' || (exitCode ?? 0) !== 0)
  if (!failed && output === '') return []
  const name = asText(event.hook_name) ?? asText(event.hook_event) ?? 'hook'
  const how = !failed
    ? ''
    : outcome === 'cancelled'
      ? ' was cancelled'
      : ` failed${exitCode ? ` (exit ${exitCode})` : ''}`
  return [
    status(state, 'hook', {
      message: `Hook ${name}${how}${output ? `: ${headline(output)}` : ''}`,
      level: failed ? 'warn' : 'info',
      data: { hook: name, hookEvent: asText(event.hook_event), outcome, exitCode, output },
    }),
  ]
}
