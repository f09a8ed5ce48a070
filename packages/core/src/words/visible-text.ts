/** A text that is read before it is agreed to: what would be invisible, or turn the reading order around, is spelled out. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, spelledOut)
}

/** The same on one line: a line break within a command would look like the end of it. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\t\n]/g, spelledOut)
}

function spelledOut(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
}

/** Control characters but tab and line feed, and everything that has no shape of its own. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu
