import type { UIEvent } from '../events/ui-event.ts'

/** One line for an event; undefined if there is nothing to show. */
export function lineOf(event: UIEvent): string | undefined {
  switch (event.type) {
    case 'chat:message':
      return event.discarded ? undefined : oneLine(event.text)
    case 'chat:complete':
      return oneLine(event.text)
    case 'tool:start':
      return oneLine(`${event.name} ${summary(event.input)}`)
    case 'permission:request':
      return oneLine(`Asks for ${event.toolName} ${summary(event.input)}`)
    case 'permission:resolved':
      return event.facts && oneLine(`${event.facts.label} ${event.facts.object}`)
    case 'session:error':
      return oneLine(event.error)
    case 'status':
      return event.level === 'info' ? undefined : oneLine(event.message)
    default:
      return undefined
  }
}

const MAX_LINE_CHARS = 200

/** The main field: the command, the file, the question. */
function summary(input: Record<string, unknown>): string {
  for (const name of TELLING_FIELDS) {
    const value = input[name]
    if (typeof value === 'string') return value
  }
  const { questions } = input
  const [first] = Array.isArray(questions) ? (questions as unknown[]) : []
  const asked =
    typeof first === 'object' && first !== null && 'question' in first ? first.question : undefined
  return typeof asked === 'string' ? asked : ''
}

const TELLING_FIELDS = ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']

function oneLine(text: string): string | undefined {
  const line = text.slice(0, MAX_SCAN_CHARS).replaceAll(/\s+/g, ' ').trim()
  if (line === '') return undefined
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line
}

/** An answer can be megabytes long; only its beginning is needed. */
const MAX_SCAN_CHARS = 2000
