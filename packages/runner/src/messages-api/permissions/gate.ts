import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { AskedDecision, Guard, GuardVerdict, PermissionDecision } from '@chirality/core'
import { askGuard } from '../../turn/questions.ts'
import type { Emit } from '../log/native-event.ts'
import type { Tool, ToolContext, ToolOutput } from '../loop/tool.ts'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import type { Workspace } from '../tools/files/workspace.ts'
import type { Grants, Policy, PolicyQuestion } from './policy.ts'

export interface GateOptions {
  policy: Policy
  workspace: Workspace
  /** The user's approvals for the whole session. */
  grants: Grants
  emit: Emit
  /** Whether a user can be asked. */
  canAsk: boolean
  /** Checked first, in every mode. */
  guard?: Guard | undefined
  /** The user denied a call and ended the turn. */
  onInterrupt(): void
}

/** Checks the input and permission of every tool call. Anything unclear is denied. */
export class Gate {
  readonly #options: GateOptions
  readonly #waiting = new Map<string, (answer: AskedDecision) => void>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0
  }

  guard(tool: BuiltInTool): Tool {
    return { ...tool, execute: (input, context) => this.#execute(tool, input, context) }
  }

  /** False for a request that a rule answered, which is reported in the same form. */
  isOpen(requestId: string): boolean {
    return this.#waiting.has(requestId)
  }

  /** False when the request is no longer open. */
  answer(requestId: string, asked: AskedDecision): boolean {
    const resolve = this.#waiting.get(requestId)
    resolve?.(asked)
    return resolve !== undefined
  }

  async #execute(
    tool: BuiltInTool,
    input: Record<string, unknown>,
    context: ToolContext,
  ): Promise<string | ToolOutput> {
    const fault = await complaintAbout(tool, input)
    if (fault !== undefined) return failure(`The input of ${tool.name} does not fit its schema: ${fault}`)
    const call = { tool, input, context }
    const guarded = await this.#guard(call)
    if (guarded.effect === 'deny') return this.#denyByRule(call, guarded)
    const question = await this.#question(tool, input)
    const verdict = this.#options.policy.judge(question)
    if (verdict.kind === 'deny') return this.#deny(tool, context, verdict.reason)
    const isGranted = tool.effect !== 'ask' && this.#options.grants.has(tool.name, input)
    const isFree = verdict.kind === 'allow' || isGranted
    if (isFree && guarded.effect === 'pass') return context.mustAsk ? failure(UNDECIDED) : run(call)
    if (!this.#options.canAsk) return this.#deny(tool, context, 'Nobody is there to ask.')
    if (this.#options.policy.mode === 'dontAsk') return this.#deny(tool, context, 'Nobody is asked.')
    const reason = guarded.effect === 'ask' ? guarded.reason : verdict.kind === 'ask' ? verdict.reason : ''
    const decision = await this.#ask({
      ...call,
      reason: context.mustAsk ? `${AGAIN} ${reason}`.trim() : reason,
    })
    if (decision === null) return failure(INTERRUPTED)
    if (decision.behavior !== 'allow') {
      if (decision.interrupt) this.#options.onInterrupt()
      return denied(decision.message ?? `The user did not allow this use of ${tool.name}.`)
    }
    const { updatedInput = input, remember } = decision
    if (remember !== undefined && tool.effect !== 'ask') this.#options.grants.add(tool.name, updatedInput)
    return run({ tool, input: updatedInput, context })
  }

  /**
   * The answer that holds. An edited input that cannot run is a denial before it is reported: deny rules and the schema
   * apply to it, too.
   */
  async #heeded(asked: AskedDecision, { tool, input, context }: Call): Promise<AskedDecision> {
    const { decision } = asked
    if (decision.behavior !== 'allow') return asked
    const { updatedInput = input } = decision
    const fault = await complaintAbout(tool, updatedInput)
    if (fault !== undefined)
      return refusal(`The user changed the input, and it does not fit the schema now: ${fault}`, 'failure')
    const guarded = updatedInput === input ? PASS : await this.#guard({ tool, input: updatedInput, context })
    if (guarded.effect === 'deny') return refusal(`Not allowed: ${guarded.reason}`, 'policy', guarded.rule)
    const verdict = this.#options.policy.judge(await this.#question(tool, updatedInput))
    return verdict.kind === 'deny' ? refusal(`Not allowed: ${verdict.reason}`, 'policy') : asked
  }

  #guard({ tool, input, context }: Call): Promise<GuardVerdict> | GuardVerdict {
    const { guard } = this.#options
    if (!guard) return PASS
    return askGuard(guard, { toolName: tool.name, input, toolUseId: context.toolUseId })
  }

  /** Reported as a request that a rule answered. */
  #denyByRule(call: Call, { reason, rule }: Extract<GuardVerdict, { effect: 'deny' }>): ToolOutput {
    const requestId = randomUUID()
    this.#emitRequest(requestId, { ...call, reason })
    const decision = { behavior: 'deny', message: reason }
    const asked = { decision, by: 'policy', ...(rule === undefined ? {} : { rule }) }
    this.#options.emit({ type: 'control_response', response: { request_id: requestId, ...asked } })
    return denied(reason)
  }

  /** Null when the turn ended before an answer. */
  async #ask({
    tool,
    input,
    context,
    reason,
  }: Call & { reason: string }): Promise<PermissionDecision | null> {
    const { emit } = this.#options
    const requestId = randomUUID()
    const answered = this.#answerTo(requestId, context.signal)
    this.#emitRequest(requestId, { tool, input, context, reason })
    const given = await answered
    const asked = given && (await this.#heeded(given, { tool, input, context }))
    if (asked === null) emit({ type: 'control_cancel_request', request_id: requestId })
    else emit({ type: 'control_response', response: { request_id: requestId, ...asked } })
    return asked?.decision ?? null
  }

  #emitRequest(requestId: string, { tool, input, context, reason }: Call & { reason: string }): void {
    const { emit, policy } = this.#options
    emit({
      type: 'control_request',
      request_id: requestId,
      request: {
        subtype: 'can_use_tool',
        tool_name: tool.name,
        input,
        tool_use_id: context.toolUseId,
        decision_reason: reason,
        permission_suggestions: suggestions(tool, input),
        permission_mode: policy.mode,
      },
    })
  }

  async #answerTo(requestId: string, signal: AbortSignal): Promise<AskedDecision | null> {
    let onAbort = () => {}
    const answered = new Promise<AskedDecision | null>(resolve => {
      onAbort = () => resolve(null)
      this.#waiting.set(requestId, resolve)
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
    })
    try {
      return await answered
    } finally {
      this.#waiting.delete(requestId)
      signal.removeEventListener('abort', onAbort)
    }
  }

  #deny(tool: Tool, { toolUseId }: ToolContext, reason: string): ToolOutput {
    this.#options.emit({
      type: 'system',
      subtype: 'permission_denied',
      tool_name: tool.name,
      tool_use_id: toolUseId,
      decision_reason: reason,
      decision_reason_type: 'mode',
    })
    return denied(`Not allowed: ${reason}`)
  }

  /** File rules are matched against the resolved path, relative to the project. */
  async #question(tool: BuiltInTool, input: Record<string, unknown>): Promise<PolicyQuestion> {
    const { name, effect } = tool
    const given = tool.subject(input)
    const isCommand = effect === 'run'
    if (isCommand || given === undefined) return { tool: name, effect, subject: given, isCommand }
    const place = await this.#options.workspace.locate(given)
    const subject = path.relative(this.#options.workspace.cwd, place.real) || '.'
    return { tool: name, effect, subject, isCommand }
  }
}

interface Call {
  tool: BuiltInTool
  input: Record<string, unknown>
  context: ToolContext
}

const PASS: GuardVerdict = { effect: 'pass' }
const INTERRUPTED = 'Interrupted by the user.'
const UNDECIDED =
  'Not executed: Chirality was ended before anybody decided about it. Call it again if it is still needed.'
const AGAIN = 'Asked again: Chirality was ended before there was an answer.'

/** The turn may have been stopped during the check or the question. */
async function run({ tool, input, context }: Call): Promise<string | ToolOutput> {
  return context.signal.aborted ? failure(INTERRUPTED) : tool.execute(input, context)
}

/** The narrowest rule: this exact command or file. An input with a `*` gets none, because the rule would match more. */
function suggestions(tool: BuiltInTool, input: Record<string, unknown>): unknown[] {
  const ruleContent = tool.subject(input)
  if (ruleContent === undefined || /[*?[\]{}\n]/.test(ruleContent)) return []
  const rules = [{ toolName: tool.name, ruleContent }]
  return [{ type: 'addRules', rules, behavior: 'allow', destination: 'session' }]
}

function refusal(message: string, by: 'policy' | 'failure', rule?: string): AskedDecision {
  return { decision: { behavior: 'deny', message }, by, ...(rule === undefined ? {} : { rule }) }
}

function denied(content: string): ToolOutput {
  return { content, isError: true, isDenied: true }
}

function failure(content: string): ToolOutput {
  return { content, isError: true }
}

type Complaint = (input: unknown) => string | undefined

/** The error of an input against the tool's schema, with its location. */
export async function complaintAbout(
  tool: BuiltInTool,
  input: Record<string, unknown>,
): Promise<string | undefined> {
  if (tool.checksInput) return undefined
  // Keyed by name: the schema of a built-in tool never changes.
  let complaint = compiled.get(tool.name)
  if (complaint === undefined) {
    complaint = await compile(tool)
    compiled.set(tool.name, complaint)
  }
  return complaint(input)?.slice(0, MAX_COMPLAINT_CHARS)
}

const compiled = new Map<string, Complaint>()
const MAX_COMPLAINT_CHARS = 2000

/** Loaded with the first call, because loading is slow. */
async function compile({ inputSchema }: BuiltInTool): Promise<Complaint> {
  const { z } = await import('zod')
  const schema = z.fromJSONSchema(inputSchema as Parameters<typeof z.fromJSONSchema>[0])
  return input => {
    const { error } = schema.safeParse(input)
    return error?.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`).join('; ')
  }
}
