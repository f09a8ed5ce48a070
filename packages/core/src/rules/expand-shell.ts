/**
 * A command with what a shell puts into it before it looks for programs, as far as the text alone says it: `$'\x72m'`, variables
 * that it sets itself (all others are empty), defaults, and `$(echo …)`. Only for finding what a rule denies or asks about.
 */
export function expandShell(command: string): string {
  const decoded = command.replace(ANSI_QUOTED, (_, quoted: string) => quoted.replace(ESCAPE, unescaped))
  return withVariables(decoded.replace(ECHO, (_, inner: string, ticked: string) => inner ?? ticked))
}

const ANSI_QUOTED = /\$'((?:[^'\\]|\\.)*)'/g
const ESCAPE = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|([0-7]{1,3})|(.))/gi
const ECHO = /\$\(\s*(?:echo|printf)\s([^()`]*)\)|`\s*(?:echo|printf)\s([^`]*)`/g

function unescaped(_: string, hex?: string, unicode?: string, octal?: string, letter = ''): string {
  const digits = hex ?? unicode
  if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16))
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
  return 'tnrvf'.includes(letter) ? ' ' : letter
}

function withVariables(command: string): string {
  if (!command.includes('$')) return command
  const values = new Map<string, string>()
  for (const [, name = '', value = ''] of command.matchAll(ASSIGNED))
    values.set(name, value.replace(/^(["'])(.*)\1$/, '$2'))
  return command.replace(VARIABLE, (_, braced?: string, otherwise?: string, bare?: string) => {
    const name = braced ?? bare
    return (name === undefined ? undefined : values.get(name)) ?? otherwise ?? ''
  })
}

const ASSIGNED = /(?<![\w$-])([a-z_]\w*)=("[^"$`]*"|'[^']*'|[^\s;&|()<>`'"$]*)/gi
const VARIABLE = /\$\{([a-z_]\w*)(?::?[-=+]([^{}]*))?\}|\$([a-z_]\w*)|\$[@*]/gi
