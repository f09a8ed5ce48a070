/**
 * Makes untrusted Markdown safe inside ours. It keeps its appearance, but no HTML is interpreted, nothing is loaded,
 * links lead only to a page, a mail address or a file beside it, and unclosed code ends with it.
 */
export function inertMarkdown(text: string): string {
  let fence: { mark: string; indent: number } | undefined
  let codeMayBeOpen = false
  const lines: string[] = []
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const [, indent = '', mark] = FENCE.exec(line) ?? []
    if (fence !== undefined) {
      if (mark?.startsWith(fence.mark) && line.trim() === mark) fence = undefined
      // The fence may be inside a list item, which this line ends.
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

/** A backtick fence has no backtick after it; otherwise it is inline code. */
const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/

/** Where bare addresses become links, a backtick is part of the address. */
const ADDRESS_WITH_TICK = /(?::\/\/|www\.|@)[^\s<]*`/i

function indentOf(line: string): number {
  return line.length - line.replace(/^ +/, '').length
}

/** A code block whose fence is longer than any in the text. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}\n`
}

export function inlineCode(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length))
  const marks = '`'.repeat(longest + 1)
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return line === '' ? '' : `${marks}${space}${line}${space}${marks}`
}

/** One line of plain text with all Markdown escaped. */
export function plainLine(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_{}[\]<>#|!~&]/g, '\\$&')
}

/** Inline code is left unchanged, unless something before it could change its meaning. */
function withoutMarks(line: string, codeMayBeOpen: boolean): string {
  return line.replace(codeMayBeOpen ? MARK : CODE_OR_MARK, (mark, ...found) => {
    const at = found.find((part): part is number => typeof part === 'number') ?? 0
    return withoutMark(mark, line.slice(at + mark.length))
  })
}

/** A character reference, which no preceding character, such as a backslash, can change. */
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

/** The start of a tag, of an image, of a link target, and of a link reference definition. */
const MARK = /<(?=[A-Za-z/!?])|!(?=\[)|\]\(|\]:/g
const CODE_OR_MARK = new RegExp(
  String.raw`\\[\\${'`'}]|(?<!${'`'})(${'`'}+)(?!${'`'}).*?(?<!${'`'})\1(?!${'`'})|${MARK.source}`,
  'g',
)
/**
 * A page, a mail address, an anchor, or a file beside it. An allow-list, because `javascript:` can be written in many
 * ways.
 */
const SAFE_TARGET = /^[ \t]*(?:https?:\/\/|mailto:|#|\.{0,2}\/|[\w%.-]+(?=[/?#)\s]|$))/i
