import type { AllowDecision, PermissionRequestEvent } from '@chirality/core'
import { invalid } from './decision-error.ts'

/**
 * A question is answered, not allowed: agents take an empty yes for "the user did not answer". What was asked goes back with
 * the answers, since agents check the whole.
 */
export function checkQuestionAnswer(request: PermissionRequestEvent, decision: AllowDecision): AllowDecision {
  if (decision.remember !== undefined) throw invalid('The answer to a question cannot be remembered.')
  const { questions, schema } = request.input
  if (Array.isArray(questions)) return withAnswers(request, decision, questionNames(questions))
  // What an MCP server asks is a form, and the form filled in is the answer.
  if (schema !== undefined && decision.updatedInput === undefined)
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

/** Agents know a question by its words, Codex also by an id. */
function questionNames(questions: unknown[]): { all: Set<string>; shown: string } {
  const all = new Set<string>()
  const shown: string[] = []
  for (const item of questions) {
    const { question, id } = (item ?? {}) as { question?: unknown; id?: unknown }
    for (const name of [id, question]) if (typeof name === 'string') all.add(name)
    const words = typeof question === 'string' ? question : id
    if (typeof words === 'string') shown.push(JSON.stringify(words.slice(0, 80)))
  }
  return { all, shown: shown.join(', ') || 'none' }
}
