import { isProtectedPath, type PermissionMode } from '@chirality/core'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import { allows, denies, isRuleFor, parseRule, type Rule, type Use } from './rule.ts'

export interface PolicyOptions {
  mode: PermissionMode
  /** Tools that run without asking. */
  allowed?: readonly string[] | undefined
  /** Tools that are taken away. */
  disallowed?: readonly string[] | undefined
}

export interface PolicyQuestion extends Use {
  effect: BuiltInTool['effect']
}

export type Verdict = { kind: 'allow' } | { kind: 'ask'; reason: string } | { kind: 'deny'; reason: string }

/** What may run, what may not, and what a person has to decide. */
export class Policy {
  mode: PermissionMode
  readonly #allowed: readonly Rule[]
  readonly #disallowed: readonly Rule[]

  constructor({ mode, allowed = [], disallowed = [] }: PolicyOptions) {
    this.mode = mode
    this.#allowed = rulesOf(allowed)
    this.#disallowed = rulesOf(disallowed)
  }

  /** The tool is taken away altogether: the model need not even know of it. */
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
