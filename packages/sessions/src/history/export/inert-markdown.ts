/**
 * Somebody's Markdown as a part of ours: it keeps its look, but no HTML of it is taken for HTML, and code that it does not
 * close ends with it.
 */
export function inertMarkdown(text: string): string {
  let fence: string | undefined
  let codeMayBeOpen = false
  const lines = text.split('\n').map(line => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined
      return line
    }
    if (mark !== undefined) {
      fence = mark
      return line
    }
    codeMayBeOpen = line.trim() !== '' && (codeMayBeOpen || hasOpenCode(line))
    return withoutTags(line, codeMayBeOpen)
  })
  if (fence !== undefined) lines.push(fence)
  return lines.join('\n')
}

/** As a block that shows it letter by letter: the fence is longer than any in it. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}\n`
}

/** As a piece of code in a line. */
export function inlineCode(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const marks = '`'.repeat(longest + 1)
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return line === '' ? '' : `${marks}${space}${line}${space}${marks}`
}

/** One line of plain text, in which nothing is a mark. */
export function plainLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_{}[\]<>#|!~&]/g, '\\$&')
}

/** Code between backticks on one line is left alone, if nothing before it can make it something else. */
function withoutTags(line: string, codeMayBeOpen: boolean): string {
  if (codeMayBeOpen) return line.replace(TAG_START, '&lt;')
  return line.replace(CODE_OR_TAG, match => (match === '<' ? '&lt;' : match))
}

function hasOpenCode(line: string): boolean {
  return line.replace(CODE_OR_TAG, '').includes('`')
}

const TAG_START = /<(?=[A-Za-z/!?])/g
const CODE_OR_TAG = /\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|<(?=[A-Za-z/!?])/g
