import { join, relative, resolve } from 'node:path'
import {
  extraRights,
  type GuardVerdict,
  isForRights,
  isProtectedPath,
  type PermissionMode,
  type PermissionRequestEvent,
  toolKind,
  writtenFiles,
} from '@chirality/core'
import { type FileOps, OneAfterTheOther, realFileOps } from '@chirality/disk'
import { PersonaError, PersonaManager, type PolicyRule } from '@chirality/personas'
import { realPath } from '../../files/real-path.ts'
import { userDataFolder } from '../../files/user-data-folder.ts'
import type { AskContext, PolicyGuard, PolicyJudge, PolicyVerdict } from '../ask-context.ts'
import { alwaysRule } from './always-rule.ts'
import { judgeCall } from './judge-call.ts'
import type { PathPlace } from './match-path.ts'
import { ruleMatches } from './match-rule.ts'
import { PolicyFiles, PROJECT_POLICY, userPolicyFile } from './policy-files.ts'
import { type PolicyProblem, type PolicySource, problemLines, restrictingRules } from './policy-source.ts'
import { describeCall, type ToolCall } from './tool-call.ts'

export interface PolicyBookOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the platform's usual folder. */
  home?: string
  personas?: PersonaManager
  ops?: FileOps
}

/** The policy files of a project, by the file that a rule can be written to. */
export interface PolicyPlaces {
  global: string
  project: string
}

/** The rules for a call: from the user's data folder, from the persona, from the project. */
export class PolicyBook implements PolicyJudge {
  readonly #home: string
  readonly #personas: PersonaManager
  readonly #files: PolicyFiles
  readonly #writing = new OneAfterTheOther()

  constructor({ home, personas, ops = realFileOps }: PolicyBookOptions = {}) {
    this.#home = home ?? userDataFolder()
    this.#personas = personas ?? new PersonaManager()
    this.#files = new PolicyFiles(ops)
  }

  async judge(context: AskContext, request: PermissionRequestEvent): Promise<PolicyVerdict> {
    // An "always" that is still being written already counts.
    await this.#writing.settled()
    const sources = await this.sources(context.projectRoot, context.persona)
    const call = describeCall(request, context)
    const verdict = judgeCall(sources, request, call)
    return allowedForTurn(context, verdict, request, call) ?? verdict
  }

  /** Applies in every permission mode; if all checks are switched off by name, protected files are free. */
  async guard(context: AskContext, mode: PermissionMode): Promise<PolicyGuard> {
    const { projectRoot, persona } = context
    const protects = mode !== 'bypassPermissions'
    const sources = await this.sources(projectRoot, persona)
    const problem = sources.flatMap(problemLines).join('\n')
    return {
      ...(problem === '' ? {} : { problem }),
      hasRules: hasRestrictions(sources),
      protects,
      rules: restrictingRules(sources),
      // Read again for each call: a new rule applies at once.
      judge: async call =>
        guardCall(await this.sources(projectRoot, persona), describeCall(call, context), { protects }),
    }
  }

  /**
   * Stores "always" in the user's own policy for the project: the rule on the request. No file in the project is
   * written.
   */
  async allowAlways(context: AskContext, request: PermissionRequestEvent): Promise<void> {
    const root = realPath(context.projectRoot)
    const always = request.always ?? alwaysRule(request, context)
    if (always === undefined)
      throw new Error('no policy rule can match exactly this call. Allow it once instead.')
    const path = userPolicyFile(this.#home, root)
    const comment = `What is allowed, asked about or denied in ${JSON.stringify(root)}`
    await this.#writing.run(() => this.#files.append(path, always.rule, comment))
  }

  /** Removes a rule of the user, from the next call on. False if that line of the file has changed meanwhile. */
  async removeRule(
    projectRoot: string,
    scope: keyof PolicyPlaces,
    rule: Pick<PolicyRule, 'line' | 'text'>,
  ): Promise<boolean> {
    const path = this.places(realPath(projectRoot))[scope]
    return this.#writing.run(() => this.#files.remove(path, rule))
  }

  /** Resolves when every "always" so far is on the disk, or has failed. */
  flushed(): Promise<void> {
    return this.#writing.settled()
  }

  places(projectRoot: string): PolicyPlaces {
    return { global: userPolicyFile(this.#home), project: userPolicyFile(this.#home, projectRoot) }
  }

  /** A draft file that replaces the user's policy for the project. */
  draft(file: string): PolicySource {
    return { kind: 'user-project', file, trusted: true, ...this.#files.read(file, { owned: false }) }
  }

  /** Every source that applies, in the order of evaluation, missing ones included. */
  async sources(projectRoot: string, persona: string | null = null): Promise<PolicySource[]> {
    const root = realPath(projectRoot)
    const own = (kind: PolicySource['kind'], file: string): PolicySource => {
      // An agent can write the files in its project.
      const trusted = !realPath(file).startsWith(root === '/' ? root : `${root}/`)
      return { kind, file, trusted, ...this.#files.read(file, { owned: true }) }
    }
    const project = this.#files.read(join(root, PROJECT_POLICY), { owned: false })
    return [
      ...(persona === null ? [] : [own('user-persona', userPolicyFile(this.#home, root, persona))]),
      own('user-project', userPolicyFile(this.#home, root)),
      own('user-global', userPolicyFile(this.#home)),
      ...(persona === null ? [] : [await this.#personaSource(root, persona)]),
      { kind: 'project', file: PROJECT_POLICY, trusted: false, ...project },
    ]
  }

  async #personaSource(root: string, persona: string): Promise<PolicySource> {
    const source = { kind: 'persona' as const, file: `agents/AGENT_${persona}.md`, trusted: false }
    const nothing = { exists: true, rules: [] as PolicyRule[] }
    try {
      const config = await this.#personas.load(root, persona)
      if (config !== null) return { ...source, ...nothing, rules: config.policy ?? [], problems: [] }
      return {
        ...source,
        ...nothing,
        exists: false,
        problems: [{ line: 0, message: 'does not exist, so its rules are unknown.' }],
      }
    } catch (error) {
      return { ...source, ...nothing, problems: personaProblems(error) }
    }
  }
}

function personaProblems(error: unknown): PolicyProblem[] {
  if (error instanceof PersonaError) return error.problems.map(({ line = 0, message }) => ({ line, message }))
  return [{ line: 0, message: error instanceof Error ? error.message : String(error) }]
}

interface GuardOptions {
  /** Files that decide what agents may do, or that run by themselves, are not changed without asking. */
  protects: boolean
}

/** The check before a call, whatever the agent's own mode and rules say. */
function guardCall(
  sources: readonly PolicySource[],
  call: ToolCall,
  { protects }: GuardOptions,
): GuardVerdict {
  const { effect, rule, problem } = judgeCall(sources, { kind: 'tool' }, call)
  if (effect === 'deny') return { effect, reason: `Denied by a rule: ${rule}`, ...(rule ? { rule } : {}) }
  if (effect === 'allow') return { effect: 'pass' }
  if (rule !== undefined) return { effect: 'ask', reason: `A rule asks about it: ${rule}` }
  // A rule that was meant for this call may be missing. Calls that only read, or write the agent's notes, go on.
  if (problem !== undefined && isWeighty(call)) return { effect: 'ask', reason: problem }
  const file = protects ? protectedFile(call) : undefined
  if (file === undefined) return { effect: 'pass' }
  return { effect: 'ask', reason: `${file} decides what agents may do, or runs by itself later.` }
}

/** The list of the turn, where no written rule says anything. */
function allowedForTurn(
  { allows = [], denies = [] }: AskContext,
  { effect, rule, problem }: PolicyVerdict,
  { kind, toolName, input }: PermissionRequestEvent,
  call: ToolCall,
): PolicyVerdict | undefined {
  if (effect !== 'ask' || rule !== undefined || problem !== undefined || kind !== 'tool') return undefined
  const { argument, place, asksForMore } = call
  const isOutside =
    argument.kind === 'paths' && argument.paths.some(({ real }) => !real.startsWith(`${place.root}/`))
  // A known tool without its command or file, as a request of a command for the network: nothing shows what it would do.
  const isVague = argument.kind === 'input' && toolKind(toolName) !== 'other'
  const isWider = asksForMore || extraRights(input).isWider || isForRights(toolName)
  if (isWider || isVague || isOutside || protectedFile(call) !== undefined) return undefined
  if (denies.some(each => ruleMatches(each, call))) return undefined
  const found = allows.find(each => ruleMatches(each, call))
  return found && { effect: 'allow', rule: `turn: ${found.text}` }
}

function hasRestrictions(sources: readonly PolicySource[]): boolean {
  return sources.some(({ problems }) => problems.length > 0) || restrictingRules(sources).length > 0
}

function isWeighty({ toolName, argument }: ToolCall): boolean {
  if (argument.kind === 'input') return toolName.startsWith('mcp__')
  return argument.kind !== 'paths' || argument.changes
}

/** In the project: an agent's plans and notes are in its own folder, and elsewhere it asks by itself. */
function protectedFile({ argument, place }: ToolCall): string | undefined {
  switch (argument.kind) {
    case 'paths':
      if (!argument.changes) return undefined
      return firstProtected(
        argument.paths.flatMap(({ lexical, real }) => [lexical, real]),
        place,
      )
    case 'command': {
      // As far as it can be recognised: a shell has more ways to write than can be listed.
      const { files, folders } = writtenFiles(argument.command)
      const places = folders.map(folder => resolve(place.root, folder))
      const written = [place.root, ...places].flatMap(from => files.map(file => resolve(from, file)))
      return firstProtected(
        written.flatMap(path => [path, place.realPath(path)]),
        place,
      )
    }
    default:
      return undefined
  }
}

function firstProtected(paths: readonly string[], { root, project }: PathPlace): string | undefined {
  for (const path of paths) {
    for (const folder of new Set([root, project])) {
      const inside = relative(folder, path)
      if (!inside.startsWith('..') && isProtectedPath(inside)) return inside
    }
  }
  return undefined
}
