/** One line that says what a tool call is about. */
export function toolSummary(input: Record<string, unknown>): string {
  for (const key of TELLING) {
    const value = input[key]
    if (typeof value === 'string' && value !== '') return shorten(value)
  }
  const first = Object.values(input).find(value => typeof value === 'string' && value !== '')
  return typeof first === 'string' ? shorten(first) : ''
}

/** The first line of a result, and how many there are. */
export function resultSummary(content: string): string {
  const lines = content.trim().split('\n')
  const [first = ''] = lines
  return lines.length > 1 ? `${shorten(first)} (${lines.length} lines)` : shorten(first)
}

const TELLING = ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']
const MAX_CHARS = 100

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS - 1)}…` : line
}
