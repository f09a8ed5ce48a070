import { compareVersions, HarnessError } from '@chirality/core'
import { keepWords, keptWords, type ProgramWords, programFile } from '../../process/program/known-programs.ts'
import { runCommand } from '../../process/program/run-command.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import { CLAUDE_VERSIONS } from '../descriptor.ts'

/**
 * What one `claude` binary can do: what it says of itself, what it has refused, and a few exceptions that nothing announces.
 * Nobody else looks at its version: a release that nobody tested would be on the wrong side of the comparison.
 */
export class ClaudeFeatures {
  /** `2.1.325`; undefined when it does not say. */
  readonly version: string | undefined
  readonly #help: string
  readonly #refused = new Set<string>()

  constructor(version?: string, help = '') {
    this.version = version
    this.#help = help
  }

  /** Whether a flag is taken. Where there is no help to read, all are but the newest. */
  knowsFlag(flag: string): boolean {
    if (HIDDEN_FLAGS.has(flag)) return true
    if (this.#help === '') return flag !== SNAPSHOT_FLAG
    return new RegExp(`^ {1,6}(?:-\\w, )?${flag}(?![\\w-])`, 'm').test(this.#help)
  }

  /** Whether `auth status` tells of a credential. */
  get hasAuthCommand(): boolean {
    return this.#help === '' || /^ {2}auth\b/m.test(this.#help)
  }

  /** Whether a hook that fails can be made to block. The SDK refuses to start where it cannot. */
  get blocksOnHookFailure(): boolean {
    return this.version !== undefined && compareVersions(this.version, HOOK_FAILURE_SINCE) >= 0
  }

  /** Whether it is worth asking for something beside the conversation: an old release leaves what it does not know unanswered. */
  answers(request: string): boolean {
    const since = ANSWERED_SINCE.get(request)
    const isOld =
      since !== undefined && this.version !== undefined && compareVersions(this.version, since) < 0
    return !isOld && !this.#refused.has(request)
  }

  /** It did not know the request, or never answered it: it is not asked again. */
  refused(request: string): void {
    this.#refused.add(request)
  }
}

export interface LookOptions {
  signal?: AbortSignal
  /** Where what a binary says is kept for other processes. Without it each process asks for itself. */
  dataFolder?: string
}

/** Of every binary that was looked at, until its file changes: looking costs two processes. */
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
  // What did not answer, or is another program, is asked again by the next process.
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
  const said = await runCommand(binary, ['--version'], { env, signal })
  if (said.code === null) return {}
  const version = { '--version': said.stdout.trim() }
  // Another program could take any more words for anything.
  if (versionIn(said.stdout) === undefined) return version
  const help = await runCommand(binary, ['--help'], { env, signal })
  return help.code === 0 ? { ...version, '--help': help.stdout } : version
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

/** What a process that ended at once did not understand. It would not understand it a second time. */
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

/** With the name, because every other program has a version too. */
const VERSION = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/

/** From 2.1.268 on the first system prompt of a conversation is used again on resume unless this says not to. */
export const SNAPSHOT_FLAG = '--system-prompt-snapshot'

/** Taken by every release above the oldest, and in the help of none, or not of all. */
const HIDDEN_FLAGS: ReadonlySet<string> = new Set([
  '--append-system-prompt-file',
  '--max-thinking-tokens',
  '--max-turns',
  '--permission-prompt-tool',
  '--resume-session-at',
  '--system-prompt-file',
])

/** Nothing announces these. 2.1.36 leaves them unanswered, 2.1.40 does not. */
const ANSWERED_SINCE: ReadonlyMap<string, string> = new Map([
  ['apply_flag_settings', '2.1.40'],
  ['get_context_usage', '2.1.40'],
])

/** The answer to `initialize` says it, but that comes too late: hooks are registered with it. 2.1.314 does not know it. */
const HOOK_FAILURE_SINCE = '2.1.317'
