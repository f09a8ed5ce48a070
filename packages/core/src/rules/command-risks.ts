import type { CallRisk, RiskKind } from '../events/ui-event.ts'
import { codeRisks } from './code-risks.ts'
import { asWritten, commandForms } from './command-text.ts'
import { BACK_FILES, gitRisks } from './git-risks.ts'
import { DEVICE, tableRisks } from './program-risks.ts'
import { FEEDS_SHELL, type ShellPart, shellParts, unwrapShell } from './shell-commands.ts'

/** The effect of each kind of risk, as the continuation of "This can". */
export const RISK_EFFECTS: Readonly<Record<RiskKind, string>> = {
  delete: 'delete files',
  script: 'run code that nobody here has read',
  history: 'overwrite work that is not saved elsewhere',
  root: 'change the whole machine',
  credentials: 'read your keys or passwords',
  network: 'send data to a host this project does not use',
  disk: 'overwrite a disk',
  remote: 'delete what is on servers',
  data: 'delete data of a database',
  publish: 'publish something for others',
  rights: 'change who may use files',
}

/** `This can delete files and read your keys or passwords` */
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
  const literal = new Set<string>()
  const inner = unwrapShell(command).slice(0, MAX_COMMAND_CHARS)
  const isAway = leavesProject(inner, place)
  const add = (found: CallRisk) => {
    const words = asWritten(isAway ? found.words.replace(BACK_FILES, OUTSIDE) : found.words)
    const risk = { ...found, part: asWritten(found.part), words }
    const key = `${risk.kind} ${risk.words}`
    // The same command is found with quotes and without; the form that occurs literally can be highlighted.
    if (literal.has(key)) return
    const isLiteral = command.includes(risk.part)
    if (isLiteral) literal.add(key)
    if (isLiteral || !risks.has(key)) risks.set(key, risk)
  }
  for (const risk of codeRisks(inner)) add(risk)
  for (const form of commandForms(inner)) {
    const fetched = fetchesScript(form)
    if (fetched) add(fetched)
    for (const risk of redirectionRisks(form)) add(risk)
    for (const risk of wholeCommandRisks(form)) add(risk)
    let isLoop = false
    for (const part of shellParts(form)) {
      if (/^do(?: |$)/.test(part.text)) isLoop = true
      else if (/^done(?: |$)/.test(part.text)) isLoop = false
      for (const program of programsIn(part, isLoop))
        for (const risk of programRisks(program, place)) add(risk)
      for (const word of part.text.split(' '))
        if (isCredentialFile(word)) add(credentialRisk(asWritten(unquoted(word))))
    }
  }
  return [...risks.values()].slice(0, MAX_RISKS)
}

/** Every program that a part of a command could start. */
function* programsIn({ text, starts }: ShellPart, isLoop: boolean): Generator<Program> {
  // What follows `\;` in a call of find: `-exec rm {} +`, `-delete`.
  const goesOn = /^-(?:exec|execdir|ok|okdir) (?=\S)/.exec(text)?.[0].length
  const places = [...new Set(goesOn === undefined ? starts : [...starts, goesOn])]
  // Behind a wrapper every word can be a program: then each is looked at with the words that are near.
  const length = starts.length > MANY_STARTS ? NEAR_CHARS : MAX_COMMAND_CHARS
  const looked =
    places.length > MAX_STARTS
      ? [...places.slice(0, MAX_STARTS / 2), ...places.slice(-MAX_STARTS / 2)]
      : places
  for (const at of looked) {
    const part = text.slice(at, at + length)
    const [program = '', ...args] = part.split(' ')
    if (program === '-delete' && at > 0) continue
    const before = text.slice(Math.max(0, at - NEAR_CHARS), at)
    const isEach = isLoop || EACH.test(before)
    yield {
      program: program.toLowerCase().replace(GNU_NAME, '$1'),
      args: isEach ? [...args, '{}'] : args,
      part,
      isEach,
      isElsewhere: ELSEWHERE.test(before),
      isRepository: / -i?name \.git /.test(before),
    }
  }
}

/** `xargs -0`, `find . -exec sudo`, `parallel -j 4`: what follows is run for each of many names. */
const EACH =
  /(?:(?:^|[\s/])(?:g?xargs|parallel)(?: (?:-\S+|\d+|[{}%@]+|\w|[A-Z_]+|sudo|command|env|nice|(?:ba|z|da|k)?sh))*|(?:^| )-(?:exec|execdir|ok|okdir|x|X|-exec|-exec-batch)(?: (?:sudo|command|env|nice|(?:ba|z|da|k)?sh|-\w*c))*) (?:\S*\/)?$/
/** Names of the GNU programs on macOS. */
const GNU_NAME = /^g(rm|mv|cp|dd|find|shred|truncate|chmod|chown|chgrp|tee|ln|install)$/
/** On another machine or in a container. */
const ELSEWHERE =
  /(?:^|[\s/])(?:ssh|ansible|adb|lxc|incus|multipass|(?:docker|podman|nerdctl)(?:-compose)?(?: -\S+| compose)*(?: -\S+ \S+)* (?:exec|run)) /

/** Whether the command works in a folder outside of the project: `cd ../other && …`, `git -C ~/x …`. */
function leavesProject(command: string, place: RiskPlace): boolean {
  for (const [, quoted, bare] of command.matchAll(CHANGES_FOLDER))
    if (place.isOutside(unquoted(quoted ?? bare ?? ''))) return true
  return false
}

const CHANGES_FOLDER =
  /(?:(?<![\w.-])(?:cd|pushd)(?:\s+--)?|\bgit\s[^;&|\n]{0,200}?(?:-C|--work-tree[=\s]))\s*(?:("[^"\n]*"|'[^'\n]*')|([^\s;&|()<>"'`]+))/g

function* redirectionRisks(command: string): Generator<CallRisk> {
  for (const { 0: part, 1: file = '' } of command.matchAll(EMPTIES))
    if (!unquoted(file).startsWith('/dev/'))
      yield { kind: 'delete', part: part.trim(), words: `Empties ${unquoted(file)}. ${BACK_FILES}` }
  const device = WRITES_DEVICE.exec(command)
  if (device !== null) yield diskRisk(device[1] ?? 'a disk', device[0])
}

/** Dangers in how parts of a command stand together. */
function* wholeCommandRisks(command: string): Generator<CallRisk> {
  const bomb = FORK_BOMB.exec(command)
  if (bomb !== null)
    yield {
      kind: 'root',
      part: bomb[0],
      words: 'Starts itself twice without an end, until this machine can start nothing more.',
    }
  const key = SYSTEM_KEY.exec(command)
  if (key !== null)
    yield {
      kind: 'root',
      part: key[0],
      words: 'Stops or restarts this machine at once, as its system key does.',
    }
  const found = CHECKS_OUT_FOUND.exec(command)
  if (found !== null) yield* gitRisks(['checkout', '--', 'found'], found[0])
  const each = EACH_REPOSITORY.exec(command)
  if (each !== null) yield* gitRisks((each[1] ?? '').trim().split(/\s+/), each[0].trim())
}

/** `:(){ :|:& };:` */
const FORK_BOMB = /(?<![\w:])(\w{1,40}|:)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*;?\s*\}/
/** `find . -type d -exec git -C {} reset --hard \;` */
const EACH_REPOSITORY = /\bgit\s+-C\s+["']?\{\}["']?\s+([^;&|\n\\+]*)/
const SYSTEM_KEY = />\s*\/proc\/sysrq-trigger/
/** `git checkout $(git diff --name-only)` */
const CHECKS_OUT_FOUND = /\bgit\s+checkout\s+(?:HEAD\s+)?(?:\$\(|`)\s*git\s+(?:diff|ls-files|status)\b/

/** `> data.db`, `: > data.db`, `cat /dev/null > data.db`, `printf '' > data.db`. */
const EMPTIES =
  /(?<=(?:^|[;\n(|{]|&&|& |\b(?:then|do|else)\s)\s{0,20})(?:(?::|true|cat\s+\/dev\/null|(?:echo(?:\s+-n)?|printf)(?:\s+(?:""|''))?)\s*)?1?>\|?(?![>&(])\s*([^\s;&|()<>`]+)/g
const WRITES_DEVICE = new RegExp(`>[>|]?\\s*["']?(${DEVICE.source})`)

const MAX_COMMAND_CHARS = 64 * 1024
const MAX_RISKS = 8
const MANY_STARTS = 100
const MAX_STARTS = 2000
const NEAR_CHARS = 500

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
  /** In small letters. */
  program: string
  args: string[]
  part: string
  /** Run for each of many names, of which `{}` is one. */
  isEach: boolean
  isElsewhere: boolean
  /** Run for the folders in which git keeps its repositories. */
  isRepository: boolean
}

function* programRisks(call: Program, place: RiskPlace): Generator<CallRisk> {
  const back = call.isElsewhere ? OUTSIDE : call.isRepository ? BACK_NO_REPOSITORY : BACK_FILES
  for (const risk of localRisks(call, place)) yield { ...risk, words: risk.words.replace(BACK_FILES, back) }
}

function* localRisks({ program, args, part, isEach }: Program, place: RiskPlace): Generator<CallRisk> {
  const names = args.filter(arg => !arg.startsWith('-') && arg !== '{}').map(unquoted)
  const flags = args.filter(arg => arg.startsWith('-'))
  const has = (short: string, ...long: string[]) =>
    flags.some(
      flag => long.some(option => isOption(flag, option)) || new RegExp(`^-\\w*[${short}]`).test(flag),
    )
  switch (program) {
    case 'rm':
      if (has('rR', '--recursive') || isEach || names.some(name => EVERY_FILE.test(name)))
        yield* deletes(names, part, place)
      return
    case 'unlink':
      if (isEach || names.some(name => EVERY_FILE.test(name))) yield* deletes(names, part, place)
      return
    case 'rimraf':
    case 'shred':
      if (names.length > 0 || isEach) yield* deletes(names, part, place)
      return
    case 'find':
      if (/ -delete\b/.test(part)) yield* deletes(names.slice(0, 1), part, place)
      return
    case '-delete':
      yield* deletes([], part, place)
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
    case 'hub':
      yield* gitRisks(args, part)
      yield* networkRisks(program, args, part, place)
      return
    case 'dd':
      for (const name of names)
        if (/^of=\/dev\/(?!null|zero|stdout|stderr|tty|fd\/)/.test(name)) yield diskRisk(name.slice(3), part)
        else if (/^of=(?!\/dev\/)/.test(name))
          yield { kind: 'delete', part, words: `Writes over ${name.slice(3)}. ${BACK_FILES}` }
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
      yield* tableRisks(program, args, part)
      return
    default:
      if (/^mkfs(?:\.\w+)?$/.test(program)) yield diskRisk(names.at(-1) ?? 'a disk', part)
      yield* tableRisks(program, args, part)
      // These run a program of the project by its name: `pnpm --filter a prisma migrate reset`.
      if (/^(?:p?npm|yarn|bun)$/.test(program))
        for (const at of [0, 1, 2, 3]) yield* tableRisks(args[at] ?? '', args.slice(at + 1), part)
      if (NETWORK_PROGRAMS.has(program)) yield* networkRisks(program, args, part, place)
  }
}

/** `*`, `dist/*`, `.*`, `src/**\/*.ts`; not `dist/*.js`. */
const EVERY_FILE = /^(?:.*\/)?\.?\*$|\*\*/

/** GNU programs take every beginning of an option that only one has: `--recurs`. */
function isOption(flag: string, option: string): boolean {
  const name = flag.split('=')[0] ?? ''
  return name === option || (name.length >= 5 && option.startsWith(name))
}

function* deletes(targets: readonly string[], part: string, place: RiskPlace): Generator<CallRisk> {
  const outside = targets.filter(target => place.isOutside(target))
  const named = (outside.length > 0 ? outside : targets).slice(0, 3).join(', ') || 'what it finds'
  const where = outside.length > 0 ? ', outside the project' : ''
  const back =
    outside.length > 0
      ? OUTSIDE
      : targets.some(target => REPOSITORY.test(target))
        ? BACK_NO_REPOSITORY
        : targets.some(target => OWN_FOLDER.test(target))
          ? 'It has the conversations of this project. Going back to before this turn does not restore them.'
          : BACK_FILES
  yield { kind: 'delete', part, words: `Deletes ${named} with everything in it${where}. ${back}` }
}

const BACK_NO_REPOSITORY =
  'Going back to before this turn restores no commits, branches or stashes, and works only while the repository is there.'
const REPOSITORY = /(?:^|\/)\.git(?:\/|$)/
const OWN_FOLDER = /(?:^|\/)\.chirality(?:\/|$)/

const OUTSIDE = 'Going back to before this turn brings nothing back there.'

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
  const hosts = new Set(args.flatMap(arg => hostOf(program, asWritten(unquoted(arg)))))
  if (program !== 'git' && DELETES_THERE.test(part) && !(hosts.size > 0 && [...hosts].every(isLoopback)))
    yield {
      kind: 'remote',
      part,
      words: 'Asks a server to delete something. Going back to before this turn changes nothing there.',
    }
  for (const host of hosts) {
    if (isLoopback(host) || place.knownHosts.has(host)) continue
    const what = sends || UPLOADS.has(program) ? 'Sends data to' : 'Connects to'
    yield { kind: 'network', part, words: `${what} ${host}, which is no remote of this project.` }
  }
}

/** `-X DELETE`, `-sXDELETE`, `--request=DELETE`, `http DELETE url`. */
const DELETES_THERE = /(?: -\w*X ?| --request[ =]| --method[ =]|^(?:https?|xh) (?:-\S+ )*)["']?DELETE\b/

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

function unquoted(text: string): string {
  return text.replace(/["'\\]/g, '')
}
