import type { AllowDecision, DenyDecision, PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { copyJsonObject } from './copy-json.ts'
import { invalid } from './decision-error.ts'
import { checkQuestionAnswer } from './question-answer.ts'

/**
 * Takes nothing on trust: the answer comes from outside. What is returned is a fresh object with known keys; a key that is
 * not known may be a misspelt limit, so it is refused.
 */
export function parseAnswer(request: PermissionRequestEvent, answer: unknown): PermissionDecision {
  if (!isRecord(answer)) throw invalid('The answer must be an object with "behavior".')
  switch (answer.behavior) {
    case 'allow':
      return parseAllow(request, answer)
    case 'deny':
      return parseDeny(request, answer)
    default:
      throw invalid('"behavior" must be "allow" or "deny".')
  }
}

function parseAllow(request: PermissionRequestEvent, answer: Record<string, unknown>): AllowDecision {
  refuseOthers(answer, ['behavior', 'updatedInput', 'remember', 'by', 'rule'])
  const { updatedInput, remember } = answer
  const decision: AllowDecision = { behavior: 'allow' }
  if (remember !== undefined) {
    if (remember !== 'session' && remember !== 'always')
      throw invalid('"remember" must be "session" or "always".')
    decision.remember = remember
  }
  if (updatedInput !== undefined) {
    const copy = copyJsonObject(updatedInput)
    if (copy.problem !== undefined) throw invalid(`"updatedInput" ${copy.problem}.`)
    decision.updatedInput = copy.value
  }
  return request.kind === 'question' ? checkQuestionAnswer(request, decision) : decision
}

function parseDeny(request: PermissionRequestEvent, answer: Record<string, unknown>): DenyDecision {
  refuseOthers(answer, ['behavior', 'message', 'interrupt', 'by', 'rule'])
  const { message, interrupt } = answer
  const decision: DenyDecision = { behavior: 'deny' }
  if (message !== undefined) {
    if (typeof message !== 'string') throw invalid('"message" must be a text.')
    if (message.length > MAX_MESSAGE_CHARS)
      throw invalid(`"message" is longer than ${MAX_MESSAGE_CHARS} characters.`)
    decision.message = message
  }
  if (interrupt !== undefined) {
    if (typeof interrupt !== 'boolean') throw invalid('"interrupt" must be true or false.')
    decision.interrupt = interrupt
  }
  if (request.kind === 'plan' && !decision.interrupt && !decision.message?.trim())
    throw invalid('A plan that is sent back needs a "message": what should change.')
  return decision
}

const MAX_MESSAGE_CHARS = 64 * 1024

function refuseOthers(answer: Record<string, unknown>, known: readonly string[]): void {
  const other = Object.keys(answer).find(key => !known.includes(key) && answer[key] !== undefined)
  if (other === undefined) return
  const words = known.filter(key => key !== 'by' && key !== 'rule').join(', ')
  throw invalid(
    `${JSON.stringify(other.slice(0, 60))} does not belong to "${answer.behavior}", which has ${words}.`,
  )
}

/** Own properties only: what a prototype says is nobody's answer. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !Object.hasOwn(value, '__proto__')
}
