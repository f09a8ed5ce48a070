import type { CallRisk, RiskKind } from '../events/ui-event.ts'
import { FEEDS_SHELL, shellParts, unwrapShell } from './shell-commands.ts'

/** The effect of each kind of risk, as the continuation of "This can". */
export const RISK_EFFECTS: Readonly<Record<RiskKind, string>> = {
  delete: 'delete files for good',
  script: 'run code that nobody here has read',
  history: 'overwrite work that is not saved elsewhere',
  root: 'change the whole machine',
  credentials: 'read your keys or passwords',
  network: 'send data to a host this project does not use',
  disk: 'overwrite a disk',
}

/** `This can delete files for good and read your keys or passwords` */
export function riskTitle(risks: readonly CallRisk[]): string {
  const effects = [...new Set(risks.map(({ kind }) => RISK_EFFECTS[kind]))]
  const last = effects.pop() ?? ''
  return `This can ${effects.length > 0 ? `${effects.join(', ')} and ${last}` : last}`
}

export interface RiskPlace {
  /** Whether a path in the command is outside the project. */
  isOutside(path: string): boolean
  /** Hosts that the project itself names, such as the remotes of its repository. */
  knownHosts: ReadonlySet<string>
}

/**
 * The dangers of a shell command, by the programs it could run: `shellParts` finds them behind operators, wrappers and
 * variables, and in text that is piped to a shell. Reads no files. Reports one risk too many when in doubt.
 */
export function commandRisks(command: string, place: RiskPlace): CallRisk[] {
  const risks = new Map<string, CallRisk>()
  const add = (risk: CallRisk) => {
    const key = `${risk.kind} ${risk.words}`
    const known = risks.get(key)
    // The same command is found with quotes and without; the form that occurs literally can be highlighted.
    if (known === undefined || (!command.includes(known.part) && command.includes(risk.part)))
      risks.set(key, risk)
  }
  const plain = withoutQuotedText(unwrapShell(command)).slice(0, MAX_COMMAND_CHARS)
  const fetched = fetchesScript(plain)
  if (fetched) add(fetched)
  for (const { text, starts } of shellParts(plain)) {
    for (const at of starts) {
      const part = text.slice(at)
      const [program = '', ...args] = part.split(' ')
      for (const risk of programRisks({ program, args, part }, place)) add(risk)
    }
    for (const word of text.split(' ')) if (isCredentialFile(word)) add(credentialRisk(unquoted(word)))
  }
  return [...risks.values()].slice(0, MAX_RISKS)
}

const MAX_COMMAND_CHARS = 64 * 1024
const MAX_RISKS = 8

/** Whether the name is a usual one for a file with keys or passwords. */
export function isCredentialFile(path: string): boolean {
  return CREDENTIAL_FILE.test(unquoted(path))
}

export function credentialRisk(path: string): CallRisk {
  return { kind: 'credentials', part: path, words: `Touches ${path}, where keys or passwords are kept.` }
}

const CREDENTIAL_FILE =
  /(?:^|\/|=|@)(?:\.ssh(?:\/|$)|\.aws(?:\/|$)|\.gnupg(?:\/|$)|\.kube\/config|\.docker\/config\.json|\.config\/(?:gh|gcloud)(?:\/|$)|\.netrc$|\.pgpass$|\.npmrc$|\.pypirc$|\.git-credentials$|\.claude\/\.credentials|\.codex\/auth\.json|\.env(?:\.(?!example|sample|template|test)[\w.-]+)?$|id_(?:rsa|ed25519|ecdsa|dsa)$|[\w.-]+\.(?:pem|p12|pfx|keystore)$|etc\/(?:g?shadow|sudoers))/

interface Program {
  program: string
  args: string[]
  part: string
}

function* programRisks({ program, args, part }: Program, place: RiskPlace): Generator<CallRisk> {
  const names = args.filter(arg => !arg.startsWith('-')).map(unquoted)
  const flags = args.filter(arg => arg.startsWith('-'))
  const has = (short: string, ...long: string[]) =>
    flags.some(flag => long.includes(flag.split('=')[0] ?? '') || new RegExp(`^-\\w*[${short}]`).test(flag))
  switch (program.toLowerCase()) {
    case 'rm':
      if (has('rR', '--recursive')) yield* deletes(names, part, place)
      return
    case 'rimraf':
    case 'shred':
      yield* deletes(names, part, place)
      return
    case 'find':
      if (/ -delete\b/.test(part) || / -exec(?:dir)? \S*rm\b/.test(part))
        yield* deletes(names.slice(0, 1), part, place)
      return
    case 'sudo':
    case 'doas':
    case 'pkexec':
    case 'run0':
    case 'su':
      yield {
        kind: 'root',
        part,
        words: 'Runs as the administrator, who may change everything on this machine.',
      }
      return
    case 'git':
      yield* gitRisks(
        args.filter((arg, i) => !arg.startsWith('-') && !GIT_VALUE.test(args[i - 1] ?? '')),
        flags,
        part,
      )
      yield* networkRisks(program, args, part, place)
      return
    case 'dd':
      for (const name of names)
        if (/^of=\/dev\/(?!null|zero|stdout|stderr)/.test(name)) yield diskRisk(name.slice(3), part)
      return
    case 'security':
    case 'secret-tool':
    case 'pass':
      if (/\b(?:find-\w+-password|dump-keychain|lookup|search|show)\b/.test(part))
        yield { kind: 'credentials', part, words: 'Reads passwords from the password store of this machine.' }
      return
    case 'gh':
      if (/^gh auth (?:token|status .*-t)/.test(part))
        yield { kind: 'credentials', part, words: 'Prints your GitHub token.' }
      return
    default:
      if (/^mkfs(?:\.\w+)?$/.test(program)) yield diskRisk(names.at(-1) ?? 'a disk', part)
      else if (NETWORK_PROGRAMS.has(program.toLowerCase())) yield* networkRisks(program, args, part, place)
  }
}

function* deletes(targets: readonly string[], part: string, place: RiskPlace): Generator<CallRisk> {
  const outside = targets.filter(target => place.isOutside(target))
  const named = (outside.length > 0 ? outside : targets).slice(0, 3).join(', ') || 'what it finds'
  const where = outside.length > 0 ? ', outside the project' : ''
  yield {
    kind: 'delete',
    part,
    words: `Deletes ${named} with everything in it${where}. It cannot be brought back.`,
  }
}

function* gitRisks(names: readonly string[], flags: readonly string[], part: string): Generator<CallRisk> {
  const [action, ...rest] = names
  const has = (pattern: RegExp) => flags.some(flag => pattern.test(flag))
  if (
    action === 'push' &&
    (has(/^-\w*f|^--force|^--mirror|^--delete$|^-d$/) || rest.some(name => /^\+|^:/.test(name)))
  )
    yield {
      kind: 'history',
      part,
      words: 'Overwrites or deletes a branch on the server; commits of others can be lost.',
    }
  if (action === 'reset' && has(/^--hard$/))
    yield { kind: 'history', part, words: 'Throws away changes that are not committed.' }
  if (action === 'clean' && has(/^-\w*f|^--force$/))
    yield {
      kind: 'delete',
      part,
      words: 'Deletes files that git does not know. They cannot be brought back.',
    }
}

/** Options of git itself, before the subcommand, that take a value. */
const GIT_VALUE = /^(?:-[cC]|--git-dir|--work-tree|--namespace|--exec-path)$/

function diskRisk(device: string, part: string): CallRisk {
  return { kind: 'disk', part, words: `Writes over ${device} directly: what is on it is lost.` }
}

const NETWORK_PROGRAMS = new Set(
  'curl wget http https xh nc ncat netcat socat telnet ftp ssh scp sftp rsync'.split(' '),
)

function* networkRisks(
  program: string,
  args: readonly string[],
  part: string,
  place: RiskPlace,
): Generator<CallRisk> {
  const sends = args.some(arg =>
    /^(?:-[a-zA-Z]*[dFT]|--data\S*|--form\S*|--upload-file|--post\S*|--json|-XPOST|-XPUT)(?:=|$)/.test(arg),
  )
  for (const host of new Set(args.flatMap(arg => hostOf(program, unquoted(arg))))) {
    if (isLoopback(host) || place.knownHosts.has(host)) continue
    const what = sends || UPLOADS.has(program) ? 'Sends data to' : 'Connects to'
    yield { kind: 'network', part, words: `${what} ${host}, which is no remote of this project.` }
  }
}

const UPLOADS = new Set(['scp', 'sftp', 'rsync', 'nc', 'ncat', 'netcat', 'socat'])

function hostOf(program: string, arg: string): string[] {
  const url = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@\s]*@)?(\[[\da-f:.]+\]|[\w.-]+)/i.exec(arg)?.[1]
  if (url !== undefined) return [url.toLowerCase()]
  const remote = /^(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):/.exec(arg)?.[1] ?? /^[\w.-]+@([\w.-]+)$/.exec(arg)?.[1]
  if (remote !== undefined) return [remote.toLowerCase()]
  if (program === 'git') return []
  // Without a scheme: `curl example.org/x`, `nc example.org 80`. File names have no letters-only top-level domain
  // before a slash or the end.
  const bare = /^((?:[\w-]+\.)+[a-z]{2,})(?::\d+)?(?:\/|$)/i.exec(arg)?.[1]
  return bare !== undefined && !FILE_ENDING.test(bare) ? [bare.toLowerCase()] : []
}

/** Names that look like a host but are probably files: `out.json`. */
const FILE_ENDING =
  /\.(?:json|txt|html?|tar|gz|tgz|zip|sh|md|xml|csv|log|ya?ml|js|ts|py|png|jpe?g|pdf|bin|deb|rpm)$/i

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '[::1]' ||
    /^127\.|^0\.0\.0\.0$/.test(host) ||
    host.endsWith('.localhost')
  )
}

/** A download that is piped to a shell. */
function fetchesScript(command: string): CallRisk | undefined {
  const fed = FEEDS_SHELL.exec(command) ?? SUBSTITUTED.exec(command)
  if (fed === null) return undefined
  const fetch = /(?:^|[\s;&|(`$])((?:curl|wget)\s[^|)`]*)/.exec(command)?.[1]
  const host = fetch?.split(/\s+/).flatMap(arg => hostOf('curl', unquoted(arg)))[0]
  const part =
    fetch === undefined ? fed[0].trim() : command.slice(command.indexOf(fetch), fed.index + fed[0].length)
  return {
    kind: 'script',
    part: part.trim(),
    words:
      host === undefined
        ? 'Runs the output of another command as a script, with your files and your keys.'
        : `Runs whatever ${host} sends as a script, with your files and your keys.`,
  }
}

/** `sh -c "$(curl …)"`, `eval "$(curl …)"`, `bash <(curl …)`. */
const SUBSTITUTED =
  /(?:(?:ba|z|da|k)?sh\s[^;&|\n]{0,40}?|eval\s+|source\s+|\.\s+)["']?(?:\$|<)?[(`]\s*(?:curl|wget)\s[^)`]*[)`]/

/**
 * Removes arguments that are only text: `git commit -m "mend; rm -rf was wrong"` deletes nothing. Keeps the quotes of
 * programs that run their arguments, and text with a substitution.
 */
function withoutQuotedText(command: string): string {
  let isText = false
  return command.replace(
    PIECE,
    (piece, quoted: string | undefined, operator: string | undefined, word = '') => {
      if (operator !== undefined) isText = false
      else if (quoted === undefined) isText ||= TEXT_PROGRAMS.has(word)
      else if (isText && (quoted.startsWith("'") || !/[$`]/.test(quoted)))
        return quoted.replace(/[;&|\n\r(){}<>!]/g, ' ')
      return piece
    },
  )
}

const PIECE = /('[^']*'|"(?:[^"\\]|\\.)*")|([;&|\n(`])|([^\s;&|\n(`'"]+)/g
/** Programs that never run their arguments. `shellParts` sees when their output is piped to a shell. */
const TEXT_PROGRAMS = new Set(['echo', 'printf', 'grep', 'rg', 'ag', 'git', 'gh', 'jq'])

function unquoted(text: string): string {
  return text.replace(/["'\\]/g, '')
}
