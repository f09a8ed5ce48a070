import {
  type AllowDecision,
  type DenyDecision,
  factsOf,
  type PermissionDecision,
  type PermissionRequestEvent,
  type Question,
} from '@chirality/core'
import { invalid } from './ask-context.ts'

/**
 * Validates an answer, which comes from outside. Returns a new object with known keys; an unknown key may be a misspelt
 * limit, so it is refused.
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

/** Own properties only: values of a prototype are not part of the answer. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !Object.hasOwn(value, '__proto__')
}

type CopiedObject =
  | { value: Record<string, unknown>; problem?: undefined }
  /** Ends the sentence "updatedInput …". */
  | { value?: undefined; problem: string }

/**
 * A deep copy of plain JSON data, or why it is none: accessors, cycles, unusual prototypes and excessive sizes are
 * refused.
 */
function copyJsonObject(value: unknown): CopiedObject {
  const budget = { chars: MAX_CHARS }
  try {
    const copy = copyValue(value, { budget, depth: 0 })
    if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
      return { problem: 'must be an object' }
    return { value: copy as Record<string, unknown> }
  } catch (error) {
    if (error instanceof NotJson) return { problem: error.message }
    return { problem: 'cannot be read' }
  }
}

class NotJson extends Error {}

interface Place {
  budget: { chars: number }
  depth: number
}

/** The largest edited inputs contain whole files. */
const MAX_CHARS = 4 * 1024 * 1024
const MAX_DEPTH = 64
const COST_OF_A_VALUE = 8

function copyValue(value: unknown, place: Place): unknown {
  spend(place, COST_OF_A_VALUE)
  switch (typeof value) {
    case 'string':
      spend(place, value.length)
      return value
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(`holds ${value}, which is not JSON`)
      return value
    case 'object':
      return value === null ? null : copyObject(value, place)
    default:
      throw new NotJson(`holds a ${typeof value}, which is not JSON`)
  }
}

function copyObject(value: object, { budget, depth }: Place): unknown {
  if (depth >= MAX_DEPTH) throw new NotJson('is nested too deeply')
  const inner = { budget, depth: depth + 1 }
  if (Array.isArray(value)) return Array.from(value, item => copyValue(item, inner))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new NotJson('holds something that is not JSON')
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw new NotJson('holds a key "__proto__"')
    spend(inner, key.length)
    const item = (value as Record<string, unknown>)[key]
    if (item !== undefined) copy[key] = copyValue(item, inner)
  }
  return copy
}

function spend({ budget }: Place, chars: number): void {
  budget.chars -= chars
  if (budget.chars < 0) throw new NotJson(`is larger than ${MAX_CHARS} characters`)
}

/**
 * A question is answered, not allowed: agents treat an empty allow as "the user did not answer". The questions are
 * returned with the answers, because agents check the whole input.
 */
function checkQuestionAnswer(request: PermissionRequestEvent, decision: AllowDecision): AllowDecision {
  if (decision.remember !== undefined) throw invalid('The answer to a question cannot be remembered.')
  const { questions } = factsOf(request)
  if (questions !== undefined) return withAnswers(request, decision, questionNames(questions))
  // A request of an MCP server is a form, and the filled form is the answer.
  if (request.input.schema !== undefined && decision.updatedInput === undefined)
    throw invalid('Fill in the form: "updatedInput" holds its fields. Or deny.')
  return decision
}

function withAnswers(
  request: PermissionRequestEvent,
  decision: AllowDecision,
  names: { all: Set<string>; shown: string },
): AllowDecision {
  const answers = decision.updatedInput?.answers
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers))
    throw invalid(`Answer the question in "updatedInput.answers", by its words: ${names.shown}. Or deny.`)
  const given = Object.entries(answers)
  if (given.length === 0) throw invalid(`"answers" is empty. The questions: ${names.shown}.`)
  for (const [name, answer] of given) {
    if (!names.all.has(name))
      throw invalid(`${JSON.stringify(name.slice(0, 80))} was not asked. The questions: ${names.shown}.`)
    if (!isAnswer(answer))
      throw invalid(`The answer to ${JSON.stringify(name.slice(0, 80))} must be a text, or a list of texts.`)
  }
  return { ...decision, updatedInput: { ...request.input, ...decision.updatedInput } }
}

function isAnswer(answer: unknown): boolean {
  const texts = Array.isArray(answer) ? answer : [answer]
  return texts.length > 0 && texts.every(text => typeof text === 'string' && text.trim() !== '')
}

/** Agents identify a question by its text, Codex also by an id. */
function questionNames(questions: readonly Question[]): { all: Set<string>; shown: string } {
  const all = new Set(questions.flatMap(({ name, id }) => (id === undefined ? [name] : [id, name])))
  return { all, shown: questions.map(({ name }) => JSON.stringify(name.slice(0, 80))).join(', ') }
}
