/**
 * Somebody's Markdown as a part of ours: it keeps its look, but no HTML of it is taken for HTML, nothing is fetched by looking at it,
 * no link leads to anything but a page, a mail or a file beside it, and code that it does not close ends with it.
 */
export function inertMarkdown(text: string): string {
  let fence: { mark: string; indent: number } | undefined
  let codeMayBeOpen = false
  const lines: string[] = []
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const [, indent = '', mark] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      if (mark?.startsWith(fence.mark) && line.trim() === mark) fence = undefined
      // It may be the fence of an item of a list, which this line ends.
      else if (line.trim() !== '' && indentOf(line) < fence.indent) return fenced(text)
      lines.push(line)
    } else if (mark !== undefined) {
      fence = { mark, indent: indent.length }
      lines.push(line)
    } else {
      codeMayBeOpen = line.trim() !== '' && (codeMayBeOpen || hasOpenCode(line))
      lines.push(withoutMarks(line, codeMayBeOpen || ADDRESS_WITH_TICK.test(line)))
    }
  }
  if (fence !== undefined) lines.push(`${' '.repeat(fence.indent)}${fence.mark}`)
  return lines.join('\n')
}

/** What follows backticks has none in it; else they are code in a line. */
const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/

/** Where a bare address is a link, a backtick in it is a part of it. */
const ADDRESS_WITH_TICK = /(?::\/\/|www\.|@)[^\s<]*`/i

function indentOf(line: string): number {
  return line.length - line.replace(/^ +/, '').length
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
function withoutMarks(line: string, codeMayBeOpen: boolean): string {
  return line.replace(codeMayBeOpen ? MARK : CODE_OR_MARK, (mark, ...found) => {
    const at = found.find((part): part is number => typeof part === 'number') ?? 0
    return withoutMark(mark, line.slice(at + mark.length))
  })
}

/** As a character that has no meaning: whatever is before it, a backslash too, cannot give it one. */
function withoutMark(mark: string, rest: string): string {
  switch (mark) {
    case '<':
      return '&lt;'
    case '!':
      return '&#33;'
    case '](':
      return SAFE_TARGET.test(rest) ? mark : ']&#40;'
    case ']:':
      return SAFE_TARGET.test(rest) ? mark : ']&#58;'
    default:
      return mark
  }
}

function hasOpenCode(line: string): boolean {
  return line.replace(CODE_OR_MARK, '').includes('`')
}

/** The start of a tag, of an image, of the target of a link and of that of a link that is named elsewhere. */
const MARK = /<(?=[A-Za-z/!?])|!(?=\[)|\]\(|\]:/g
const CODE_OR_MARK = new RegExp(
  String.raw`\\[\\${'`'}]|(?<!${'`'})(${'`'}+)(?!${'`'}).*?(?<!${'`'})\1(?!${'`'})|${MARK.source}`,
  'g',
)
/** A page, a mail, a place in this text, or a file beside it. Nothing else: `javascript:` can be written in many ways. */
const SAFE_TARGET = /^[ \t]*(?:https?:\/\/|mailto:|#|\.{0,2}\/|[\w%.-]+(?=[/?#)\s]|$))/i
