/** One line that says what a tool call is about. */
export function toolSummary(input: Record<string, unknown>): string {
  const values = [...TELLING.map(key => input[key]), ...Object.values(input)]
  const telling = values.find(value => typeof value === 'string' && value.trim() !== '')
  return typeof telling === 'string' ? oneLine(telling) : ''
}

/** The first line of a result, and how many there are. */
export function resultSummary(content: string): string {
  const text = content.trim()
  if (text === '') return 'no output'
  const end = text.indexOf('\n')
  if (end < 0) return oneLine(text)
  return `${oneLine(text.slice(0, end))} (${text.split('\n').length} lines)`
}

const TELLING = ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']
const MAX_CHARS = 100

/** Cut between characters, never inside one. */
function oneLine(text: string): string {
  // A file that is written can be the input: most of it need not be looked at.
  const line = text
    .slice(0, MAX_CHARS * 20)
    .replace(/\s+/g, ' ')
    .trim()
  const chars = [...line]
  return chars.length > MAX_CHARS ? `${chars.slice(0, MAX_CHARS - 1).join('')}…` : line
}
