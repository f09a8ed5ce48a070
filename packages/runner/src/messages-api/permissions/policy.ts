import { createHash } from 'node:crypto'
import { isProtectedPath, type PermissionMode } from '@chirality/core'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import { allows, denies, isRuleFor, parseRule, type Rule, type Use } from './rule.ts'

export interface PolicyOptions {
  mode: PermissionMode
  allowed?: readonly string[] | undefined
  /** Tools that are not available. */
  disallowed?: readonly string[] | undefined
}

export interface PolicyQuestion extends Use {
  effect: BuiltInTool['effect']
}

export type Verdict = { kind: 'allow' } | { kind: 'ask'; reason: string } | { kind: 'deny'; reason: string }

/** Decides whether a call runs, is denied, or needs the user's decision. */
export class Policy {
  mode: PermissionMode
  readonly #allowed: readonly Rule[]
  readonly #disallowed: readonly Rule[]

  constructor({ mode, allowed = [], disallowed = [] }: PolicyOptions) {
    this.mode = mode
    this.#allowed = rulesOf(allowed)
    this.#disallowed = rulesOf(disallowed)
  }

  /** The tool is denied in every form, so the model is not told of it. */
  hides(tool: string): boolean {
    return this.#disallowed.some(rule => isRuleFor(rule, tool) && rule.argument === undefined)
  }

  /** A file that may not be read may not be found or searched either. `file` is relative to the project. */
  hidesFile(file: string): boolean {
    const use = { tool: 'read', subject: file, isCommand: false }
    return this.#disallowed.some(rule => rule.argument !== undefined && denies(rule, use))
  }

  judge(question: PolicyQuestion): Verdict {
    const { tool, effect } = question
    if (this.#disallowed.some(rule => denies(rule, question))) {
      return { kind: 'deny', reason: `A rule forbids this use of ${tool}.` }
    }
    if (effect === 'ask') return this.#judgeQuestion()
    if (effect === 'read' || this.mode === 'bypassPermissions') return { kind: 'allow' }
    if (this.mode === 'plan')
      return {
        kind: 'deny',
        reason: 'Only planning is allowed now: change nothing, and say what you would do.',
      }
    if (effect === 'client') return { kind: 'allow' }
    if (this.#allowed.some(rule => allows(rule, question))) return { kind: 'allow' }
    if (this.mode === 'acceptEdits' && effect === 'edit' && !mayBeProtected(question.subject))
      return { kind: 'allow' }
    if (this.mode === 'dontAsk') {
      return {
        kind: 'deny',
        reason: `${tool} is not among the tools that may run without asking, and nobody is asked.`,
      }
    }
    return { kind: 'ask', reason: REASONS[effect] }
  }

  #judgeQuestion(): Verdict {
    if (this.mode === 'dontAsk') return { kind: 'deny', reason: 'Nobody is asked.' }
    return { kind: 'ask', reason: 'It needs an answer.' }
  }
}

const REASONS = { edit: 'It changes a file.', run: 'It runs a command.' } as const

function mayBeProtected(file: string | undefined): boolean {
  return file === undefined || isProtectedPath(file)
}

function rulesOf(texts: readonly string[]): Rule[] {
  return texts.flatMap(text => parseRule(text) ?? [])
}

/** The user's approvals for the rest of a session, each for one exact input of one tool. */
export class Grants {
  readonly #granted = new Set<string>()

  add(tool: string, input: Record<string, unknown>): void {
    this.#granted.add(keyOf(tool, input))
  }

  has(tool: string, input: Record<string, unknown>): boolean {
    return this.#granted.has(keyOf(tool, input))
  }
}

/** A hash, because the input can be a file of megabytes. The description of a command does not count. */
function keyOf(tool: string, { description: _, ...input }: Record<string, unknown>): string {
  const call = [tool, Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(call)).digest('base64')
}

/** The approvals of the most recently used sessions. A session that is dropped asks again. */
export class GrantsOfSessions {
  readonly #sessions = new Map<string, Grants>()

  of(sessionId: string): Grants {
    const grants = this.#sessions.get(sessionId) ?? new Grants()
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, grants)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest)
    return grants
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  clear(): void {
    this.#sessions.clear()
  }
}

const MAX_SESSIONS = 1000
