import type { UIEvent } from '@chirality/core'

export type HitKind = 'user' | 'assistant' | 'thinking' | 'tool' | 'error'

export interface SearchableText {
  kind: HitKind
  text: string
}

/** The searchable text of an event. Deltas are skipped, because the complete message is searched. */
export function searchableText(event: UIEvent): SearchableText | undefined {
  switch (event.type) {
    case 'turn:start':
      return textOf('user', event.message)
    case 'chat:message':
      return event.discarded ? undefined : textOf('assistant', event.text)
    case 'chat:complete':
      return textOf('assistant', event.text)
    case 'chat:thinking':
      return event.final ? textOf('thinking', event.text) : undefined
    case 'tool:start':
      return textOf('tool', [event.name, ...textsIn(event.input)].join('\n'))
    case 'tool:input':
      return event.input === undefined ? undefined : textOf('tool', textsIn(event.input).join('\n'))
    case 'permission:resolved':
      return event.updatedInput && textOf('tool', textsIn(event.updatedInput).join('\n'))
    case 'tool:result':
      return textOf('tool', event.content)
    case 'session:error':
      return textOf('error', event.error)
    default:
      return undefined
  }
}

/** As written in a log, so that lines of other types need not be parsed. */
export const SEARCHABLE_TYPES: ReadonlySet<string> = new Set<UIEvent['type']>([
  'turn:start',
  'chat:message',
  'chat:complete',
  'chat:thinking',
  'tool:start',
  'tool:input',
  'permission:resolved',
  'tool:result',
  'session:error',
])

/** The value is checked: another version or program may have written the log. */
function textOf(kind: HitKind, text: unknown): SearchableText | undefined {
  return typeof text === 'string' ? { kind, text } : undefined
}

function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return []
  return Object.values(value).flatMap(item => textsIn(item, depth + 1))
}

const MAX_DEPTH = 20
