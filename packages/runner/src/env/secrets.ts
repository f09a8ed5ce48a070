import { HARNESSES } from '../harnesses.ts'
import { BASE_NAMES, BASE_PREFIXES, PROXY_NAMES } from './allowed-names.ts'

/**
 * The secret values of an environment: of variables named like a secret, and of variables that no agent receives,
 * except known harmless ones and public values such as a path.
 */
export function secretValues(environment: Readonly<Record<string, string>>): string[] {
  const values = Object.entries(environment).flatMap(([name, value]) => {
    const password = PROXY_NAMES.includes(name)
      ? /^[a-z0-9+.-]+:\/\/[^/]*:([^/]+)@/i.exec(value)?.[1]
      : undefined
    if (password !== undefined) return [password]
    return isSecret(name, value) ? [value, value.trim()] : []
  })
  return [...new Set(values)]
}

function isSecret(name: string, value: string): boolean {
  if (isSecretLike(name, value)) return true
  if (KNOWN.has(name) || HARMLESS.test(name)) return false
  // A file may hold a secret; its path does not.
  if (isPath(value)) return false
  return SECRET_WORD.test(name) || isOpaque(value)
}

/** Variables that agents receive and that are not named like a secret are settings. */
const KNOWN = new Set([
  ...[...BASE_NAMES, ...PROXY_NAMES],
  ...HARNESSES.flatMap(({ meta: { environment } }) => [
    ...(environment?.names ?? []),
    ...(environment?.switched ?? []).flatMap(({ names }) => names),
  ]).filter(name => !/ACCESS_KEY|BEARER|TOKEN$|HEADERS$/.test(name)),
])

/** Set by shells, desktops, terminals and package managers. */
const HARMLESS = new RegExp(
  `^(${BASE_PREFIXES.join('|')}|CHIRALITY_|XDG_|npm_(package|lifecycle|node|execpath|command|config_(user_agent|registry|cache|prefix))|` +
    'VSCODE_|TERM_|KDE_|GNOME_|GTK_|QT_|ITERM_|TMUX|WSL|WT_|COLOR|LESS|GREP_|LS_|MANPATH|INFOPATH|SSH_(CLIENT|CONNECTION|TTY)|' +
    'DBUS_|DISPLAY|WAYLAND_|PWD$|OLDPWD$|SHLVL$|_$|HOSTNAME$|HOST$|USERNAME$|MAIL$|PS1$|HIST|COLUMNS$|LINES$|CI$|GIT_(AUTHOR|COMMITTER)_)',
)

const SECRET_WORD =
  /(^|_)(KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|PWD|PW|PAT|AUTH|JWT|DSN|CREDENTIALS?|CREDS?|WEBHOOK|BOT|SA|ACCESS|SERVICE_ROLE|HEADERS|VALUE_\d+|CONNECTION_STRING|BUNDLE|MONGO(DB)?_UR[IL]|AMQP_URL|[A-Z]*SQL_URL|POSTGRES_URL|REST_URL|CLOUDINARY_URL|LICENSE)(_|$)|(KEY|TOKEN|SECRET|PASSWORD)$/i

function isPath(value: string): boolean {
  return value.split(':').every(part => /^(~|\.{0,2}\/)/.test(part))
}

/** Long, without spaces, with letters and digits: probably generated. */
function isOpaque(value: string): boolean {
  return (
    /^\S{16,}$/.test(value) &&
    /\d/.test(value) &&
    /[A-Za-z]/.test(value) &&
    !/^https?:\/\/[^?@]*$/.test(value)
  )
}

/** Names and values that must not reach a child by accident: the second check, after the allow-list. */
export function isSecretLike(name: string, value: string): boolean {
  return (
    SECRET_NAMES.some(pattern => pattern.test(name)) || SECRET_VALUES.some(pattern => pattern.test(value))
  )
}

const SECRET_NAMES = [
  /_(SECRET|PASSWORD|CREDENTIAL|KEY|TOKEN|API_KEY)$/i,
  /^(DATABASE_URL|REDIS_URL)$/i,
  /^(SECRET|PASSWORD|CREDENTIALS?|TOKEN|API_?KEY)$/i,
]

const SECRET_VALUES = [
  // A URL with a password in it.
  /[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\bgh[pousr]_[A-Za-z0-9]{16,}/,
  /\bgithub_pat_[A-Za-z0-9_]{16,}/,
  /\bglpat-[A-Za-z0-9_-]{16,}/,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\b(AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bAIza[A-Za-z0-9_-]{30,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  // A JSON Web Token.
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\./,
]

/** A command line for the log: an argument that looks like a secret keeps its name and loses its value. */
export function redactArgs(args: readonly string[]): string[] {
  return args.map(argument => {
    const [name = '', ...rest] = argument.split('=')
    const value = rest.join('=')
    const key = name.split('.').at(-1) ?? ''
    if (!isSecretLike(value === '' ? '' : key, argument)) return argument
    return value === '' ? REDACTED : `${name}=${REDACTED}`
  })
}

const REDACTED = '[redacted]'
