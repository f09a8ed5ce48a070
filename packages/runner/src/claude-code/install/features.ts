import { compareVersions, HarnessError } from '@chirality/core'
import { keepWords, keptWords, type ProgramWords, programFile } from '../../process/program/known-programs.ts'
import { runHelper } from '../../process/program/run-helper.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import { CLAUDE_VERSIONS } from '../descriptor.ts'

/**
 * The features of one `claude` binary: from its help, from the requests it has refused, and a few exceptions that it
 * does not announce. No other module compares versions: an untested release would be on the wrong side of the
 * comparison.
 */
export class ClaudeFeatures {
  /** `2.1.325`; undefined if the binary does not print a version. */
  readonly version: string | undefined
  readonly #help: string
  readonly #refused = new Set<string>()

  constructor(version?: string, help = '') {
    this.version = version
    this.#help = help
  }

  /** Whether the binary accepts a flag. Without a help text to read, every flag but those of newer releases is assumed. */
  knowsFlag(flag: string): boolean {
    if (HIDDEN_FLAGS.has(flag)) return true
    if (this.#help === '') return !NEW_FLAGS.has(flag)
    return lineOf(flag).test(this.#help)
  }

  /** Whether the help names a value of a flag. Where it lists none, the binary itself decides. */
  knowsChoice(flag: string, value: string): boolean {
    const [, said = ''] = this.#help.split(lineOf(flag))
    const [paragraph = ''] = said.split(/\n {1,6}-/)
    const choices = /\(([^)]*)\)/.exec(paragraph)?.[1]
    return choices === undefined || choices.match(/\w+/g)?.includes(value) === true
  }

  /** Whether `auth status` reports a credential. */
  get hasAuthCommand(): boolean {
    return this.#help === '' || /^ {2}auth\b/m.test(this.#help)
  }

  /** Whether a failing hook can be made to block the call. The SDK refuses to start if it cannot. */
  get blocksOnHookFailure(): boolean {
    return this.version !== undefined && compareVersions(this.version, HOOK_FAILURE_SINCE) >= 0
  }

  /** Whether it reads AGENTS.md of a folder that has no CLAUDE.md. */
  get readsAgentsFile(): boolean {
    return this.version !== undefined && compareVersions(this.version, AGENTS_FILE_SINCE) >= 0
  }

  /** Whether it takes `--effort ultracode`, which no help names, and says whether it has it. */
  get knowsUltracode(): boolean {
    return this.version !== undefined && compareVersions(this.version, ULTRACODE_SINCE) >= 0
  }

  /** Whether a control request is worth sending: an old release never answers a request that it does not know. */
  answers(request: string): boolean {
    const since = ANSWERED_SINCE.get(request)
    const isOld =
      since !== undefined && this.version !== undefined && compareVersions(this.version, since) < 0
    return !isOld && !this.#refused.has(request)
  }

  /** The binary refused the request or never answered it; it is not sent again. */
  refused(request: string): void {
    this.#refused.add(request)
  }
}

export interface LookOptions {
  signal?: AbortSignal
  /** The folder that caches the features of a binary for other processes. Without it each process runs the binary. */
  dataFolder?: string
}

/** The features of every binary that was examined, until its file changes: examining one starts two processes. */
export async function claudeFeatures(
  binary: string,
  env: Record<string, string>,
  { signal, dataFolder }: LookOptions = {},
): Promise<ClaudeFeatures> {
  const file = await programFile(binary)
  const known = looked.get(file.key)
  if (known) return known
  const kept = await keptWords(dataFolder, file)
  const words = kept ?? (await look(binary, env, signal))
  const features = new ClaudeFeatures(versionIn(words['--version']), words['--help'])
  // A binary that did not answer, or is another program, is examined again by the next process.
  const isWhole = features.version !== undefined && words['--help'] !== undefined
  if (isWhole && kept === undefined) await keepWords(dataFolder, file, words)
  if (isWhole || (features.version === undefined && words['--version'] !== undefined))
    looked.set(file.key, features)
  return features
}

const looked = new Map<string, ClaudeFeatures>()

async function look(
  binary: string,
  env: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<ProgramWords> {
  const said = await runHelper(binary, ['--version'], { env, signal })
  if (said.code === null) return {}
  const version = { '--version': said.stdout.trim() }
  // Another program could interpret further arguments in any way, so none are passed.
  if (versionIn(said.stdout) === undefined) return version
  const help = await runHelper(binary, ['--help'], { env, signal })
  return help.code === 0 ? { ...version, '--help': help.stdout } : version
}

/** The beginning of a flag's lines in a help text. */
function lineOf(flag: string): RegExp {
  return new RegExp(`^ {1,6}(?:-\\w, )?${flag}(?![\\w-])`, 'm')
}

function versionIn(said: string | undefined): string | undefined {
  return VERSION.exec(said?.trim() ?? '')?.[1]
}

/** The error for a flag that this binary does not take, and the query needs. */
export function unsupportedFlag(flag: string, { version }: ClaudeFeatures, agent: AgentName): HarnessError {
  const which = version === undefined ? agent.name : `Claude Code ${version}`
  const message = `${which} does not know ${flag}, which this turn needs. ${CLAUDE_VERSIONS.update}`
  return new HarnessError(message, 'unsupported', agent.harnessId)
}

/** The error for a value of a flag that this binary does not have. */
export function unsupportedChoice(what: string, { version }: ClaudeFeatures, agent: AgentName): HarnessError {
  const which = version === undefined ? agent.name : `Claude Code ${version}`
  return new HarnessError(
    `${which} has no ${what}. ${CLAUDE_VERSIONS.update}`,
    'unsupported',
    agent.harnessId,
  )
}

/** The error for a command line that the process rejected on start. A second attempt would fail in the same way. */
export function usageFailure(
  said: string,
  { name }: AgentName,
): { error: string; code: 'unsupported' } | undefined {
  const what = USAGE_ERROR.exec(said)?.[1]
  if (what === undefined) return undefined
  const error = `${name} does not take the command line of this turn: ${what}. ${CLAUDE_VERSIONS.update}`
  return { error, code: 'unsupported' }
}

const USAGE_ERROR =
  /error: ((?:unknown (?:option|command)|unexpected argument|option '[^'\n]*' argument '[^'\n]*' is invalid)[^\n]*)/

/** Includes the program's name, because every other program prints a version too. */
const VERSION = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/

/** From 2.1.268 on, a resumed conversation reuses its first system prompt unless this flag says not to. */
export const SNAPSHOT_FLAG = '--system-prompt-snapshot'

/** Without it only the hooks at the start of a session are told. */
export const HOOK_EVENTS_FLAG = '--include-hook-events'

/** Flags that are used where the help lists them, and that a turn can do without. */
const NEW_FLAGS: ReadonlySet<string> = new Set([SNAPSHOT_FLAG, HOOK_EVENTS_FLAG])

/** Flags that every release above the oldest accepts, but that not every help text lists. */
const HIDDEN_FLAGS: ReadonlySet<string> = new Set([
  '--append-system-prompt-file',
  '--max-thinking-tokens',
  '--max-turns',
  '--permission-prompt-tool',
  '--resume-session-at',
  '--system-prompt-file',
])

/** By the vendor's notes; 2.1.197 has no such effort, 2.1.325 has. */
const ULTRACODE_SINCE = '2.1.203'

/** Requests that no release announces. 2.1.36 never answers them, 2.1.40 does. */
const ANSWERED_SINCE: ReadonlyMap<string, string> = new Map([
  // Of no use before: it does not say there whether ultracode can be chosen.
  ['get_settings', ULTRACODE_SINCE],
  ['apply_flag_settings', '2.1.40'],
  ['get_context_usage', '2.1.40'],
])

/**
 * The answer to `initialize` announces it, but hooks are registered with that same request. 2.1.314 does not know it.
 */
const HOOK_FAILURE_SINCE = '2.1.317'

/** By the vendor's notes; 2.1.197 does not, 2.1.325 does. */
const AGENTS_FILE_SINCE = '2.1.277'
