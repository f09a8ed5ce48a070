import { anywhere, type Glob, globMatches, literalOf, parseGlob } from './glob.ts'
import { type ShellPart, shellParts, unwrapShell } from './shell-commands.ts'

/**
 * Whether an `allow` pattern covers a whole command. A star never covers what a shell could read as a second command, a
 * redirection or a substitution: such a command is allowed only by its exact text.
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
 * Whether an `ask` or `deny` pattern matches a command or any command inside it: also behind `sudo`, `env`, `xargs` or
 * `sh -c`, in quotes, with its full path, or in another case. Protects against accidents only: a shell has more ways to
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

/** Only the first match of the pattern's beginning counts: what follows a later one also follows the first. */
function isFoundIn({ text, starts }: ShellPart, glob: Glob): boolean {
  const [beginning = ''] = glob.parts
  const literal = literalOf(glob)
  const start = starts.find(at =>
    literal === undefined ? text.startsWith(beginning, at) : text.length - at === literal.length,
  )
  if (start !== undefined && globMatches(glob, text.slice(start))) return true
  return starts.some(at => fitsByGlob(text.slice(at), glob))
}

/** `/bin/r?` runs the file that the shell expands it to. It counts as the pattern's program if it can match it. */
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
    // A shell does not read these brackets as a set either.
    return false
  }
}

const MAX_COMMAND_CHARS = 64 * 1024
const OPERATORS = /[;&|<>()`$\n]/
/** Includes invisible characters and those that change the text direction. */
const SHELL_MEANING = /[;&|<>()`${}!\\]|\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/u

/** `git log *` also matches `git log`, and so does `git log:*`, the form of Claude Code. */
function variantsOf(pattern: string): Glob[] {
  const trimmed = pattern.trim().replace(/:\*$/, ' *')
  const bare = / +\*$/.test(trimmed) ? [parseGlob(trimmed.replace(/ +\*$/, ''))] : []
  return [parseGlob(trimmed), ...bare]
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}
