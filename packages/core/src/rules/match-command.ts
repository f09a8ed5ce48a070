import { anywhere, type Glob, globMatches, literalOf, parseGlob } from './glob.ts'
import { type ShellPart, shellParts, unwrapShell } from './shell-commands.ts'

/**
 * Whether an `allow` pattern covers a whole command. What a shell could read as a second command, a redirection or a
 * substitution is covered by no star: such a command is allowed only by its exact words.
 */
export function allowsCommand(pattern: string, command: string): boolean {
  const words = unwrapShell(command)
  const isPlain = words.length <= MAX_COMMAND_CHARS && !SHELL_MEANING.test(words)
  return variantsOf(pattern).some(glob => {
    if (literalOf(glob) !== undefined) return literalOf(glob) === words || literalOf(glob) === command
    return isPlain && globMatches(glob, words.trim())
  })
}

/**
 * Whether an `ask` or `deny` pattern finds something in a command: the whole, or any command in it, also behind `sudo`,
 * `env`, `xargs`, `sh -c`, in quotes, by its full path, in another case. A guard against accidents: a shell has more ways to
 * hide a command than can be listed.
 */
export function findsCommand(pattern: string, command: string): boolean {
  const text = command.toLowerCase()
  const whole = oneLine(text)
  const globs = variantsOf(pattern.toLowerCase().replace(/\s+/g, ' '))
  const isFoundInWhole = (glob: Glob) =>
    globMatches(glob, text) ||
    globMatches(glob, whole) ||
    (glob.parts.some(part => OPERATORS.test(part)) && globMatches(anywhere(glob), whole))
  if (globs.some(isFoundInWhole)) return true
  for (const part of shellParts(text)) if (globs.some(glob => isFoundIn(part, glob))) return true
  return false
}

/** Of all places where the pattern's beginning fits the first decides: what follows a later one also follows it. */
function isFoundIn({ text, starts }: ShellPart, glob: Glob): boolean {
  const [beginning = ''] = glob.parts
  const literal = literalOf(glob)
  const start = starts.find(at =>
    literal === undefined ? text.startsWith(beginning, at) : text.length - at === literal.length,
  )
  if (start !== undefined && globMatches(glob, text.slice(start))) return true
  return starts.some(at => fitsByGlob(text.slice(at), glob))
}

/** `/bin/r?` is whatever the shell finds by it: taken for the program that the pattern begins with, if it can be that one. */
function fitsByGlob(text: string, glob: Glob): boolean {
  const [word = ''] = /^\S*/.exec(text) ?? []
  const [program = ''] = /^[^\s/]+/.exec(glob.parts[0] ?? '') ?? []
  if (program === '' || word.length > MAX_GLOB_CHARS || !/[*?[]/.test(word) || !/^[\w.*?[\]-]+$/.test(word))
    return false
  const expression = word
    .replace(/\./g, '\\.')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.')
    .replace(/\[(?![^\]]+\])|(?<!\[[^[]*)\]/g, '\\$&')
  return fitsWhole(expression, program) && globMatches(glob, `${program}${text.slice(word.length)}`)
}

const MAX_GLOB_CHARS = 40

function fitsWhole(expression: string, name: string): boolean {
  try {
    return new RegExp(`^${expression}$`).test(name)
  } catch {
    // Brackets that no shell reads as a set either.
    return false
  }
}

const MAX_COMMAND_CHARS = 64 * 1024
const OPERATORS = /[;&|<>()`$\n]/
/** Also what is invisible, or moves the text around it. */
const SHELL_MEANING = /[;&|<>()`${}!\\]|\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u

/** `git log *` means `git log` as well, and so does `git log:*`, as Claude Code writes it. */
function variantsOf(pattern: string): Glob[] {
  const trimmed = pattern.trim().replace(/:\*$/, ' *')
  const bare = / +\*$/.test(trimmed) ? [parseGlob(trimmed.replace(/ +\*$/, ''))] : []
  return [parseGlob(trimmed), ...bare]
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}
