import type { UIEvent } from '../../events/ui-event.ts'
import { asText, type JsonObject } from '../../native/loose.ts'
import { snakeCase } from './snake-case.ts'
import type { CodexState } from './state.ts'
import { status } from './ui.ts'

/** Another model takes over. app-server has a notification for it, `exec` an error item with these words. */
const REROUTED = /^model rerouted: (\S+) -> (\S+)(?: \((\w+)\))?$/

/** Undefined if the error item is about something else. */
export function translateReroute(state: CodexState, item: JsonObject): UIEvent[] | undefined {
  const [, fromModel, toModel, reason] = REROUTED.exec(asText(item.message) ?? '') ?? []
  return fromModel === undefined ? undefined : reportReroute(state, { fromModel, toModel, reason })
}

export function reportReroute(state: CodexState, params: JsonObject): UIEvent[] {
  const from = asText(params.fromModel)
  const to = asText(params.toModel)
  const reason = asText(params.reason)
  return [
    status(state, 'model_fallback', {
      message: `Switched from ${from ?? 'the model'} to ${to ?? 'another one'}`,
      level: 'warn',
      data: {
        trigger: reason && snakeCase(reason).replace(/^_/, ''),
        originalModel: from,
        fallbackModel: to,
      },
    }),
  ]
}
