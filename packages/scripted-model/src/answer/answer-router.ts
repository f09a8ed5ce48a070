import type { RequestFacts } from '../request/request-facts.ts'
import type { Script, ScriptAnswer, ScriptWhen } from '../script/script.ts'
import { SIDE_ANSWERS } from '../script/side-request.ts'
import { type Answer, toAnswer } from './answer.ts'

export interface ServedAnswer extends QueuedAnswer {
  /** How often the answer at this place has been served, this time included. */
  nth: number
}

/** Decides which answer of the script a request gets. */
export class AnswerRouter {
  readonly #script: Script
  readonly #servings = new Map<string, number>()
  readonly #main: AnswerQueue
  readonly #routes: { when: ScriptWhen; queue: AnswerQueue; otherwise?: ScriptAnswer; path: string }[]

  constructor(script: Script) {
    const { answers = [], routes = [], defaults } = script
    this.#script = script
    this.#main = new AnswerQueue(answers, 'answers', defaults)
    this.#routes = routes.map(({ when, answers, otherwise }, index) => {
      const path = `routes[${index}]`
      return { when, otherwise, path, queue: new AnswerQueue(answers, `${path}.answers`, defaults) }
    })
  }

  next(facts: RequestFacts): ServedAnswer {
    const queued = this.#choose(facts)
    const nth = (this.#servings.get(queued.path) ?? 0) + 1
    this.#servings.set(queued.path, nth)
    return { ...queued, nth }
  }

  /** Replaces the main list and drops its remaining answers. */
  continueWith(answers: readonly ScriptAnswer[]): void {
    this.#main.continueWith(answers)
  }

  remaining(): number {
    return this.#routes.reduce((sum, { queue }) => sum + queue.remaining, this.#main.remaining)
  }

  #choose(facts: RequestFacts): QueuedAnswer {
    const route = this.#routes.find(({ when }) => fits(when, facts))
    if (!route && facts.side) return this.#fixed(SIDE_ANSWERS[facts.side], `side:${facts.side}`)
    const queued = (route?.queue ?? this.#main).next()
    if (queued) return queued
    if (route?.otherwise) return this.#fixed(route.otherwise, `${route.path}.otherwise`)
    if (this.#script.otherwise) return this.#fixed(this.#script.otherwise, 'otherwise')
    return exhausted(route ? `${route.path}.answers` : 'answers')
  }

  #fixed(written: ScriptAnswer, path: string): QueuedAnswer {
    return { answer: toAnswer(written, this.#script.defaults), path }
  }
}

/** 400, because agents retry everything else: a test that ran out of script should end at once. */
function exhausted(queue: string): QueuedAnswer {
  const message = `script exhausted: every answer of \`${queue}\` has been served. Add an answer there, or an \`otherwise\`.`
  return { answer: { kind: 'failure', status: 400, message, headers: {}, delayMs: 0 }, path: 'exhausted' }
}

function fits(when: ScriptWhen, facts: RequestFacts): boolean {
  const contains = (text: string, part: string | undefined) => part === undefined || text.includes(part)
  const matches = (text: string, pattern: string | undefined) =>
    pattern === undefined || new RegExp(pattern).test(text)
  return (
    contains(facts.model, when.modelContains) &&
    contains(facts.system, when.systemContains) &&
    contains(facts.lastUser, when.lastUserContains) &&
    contains(facts.firstUser, when.conversationContains) &&
    contains(facts.toolResults, when.toolResultContains) &&
    matches(facts.lastUser, when.lastUserMatches) &&
    matches(facts.toolResults, when.toolResultMatches) &&
    (when.hasTool === undefined || facts.tools.includes(when.hasTool)) &&
    (when.subAgent === undefined || when.subAgent === facts.subAgent) &&
    (when.side === undefined || when.side === facts.side) &&
    (when.withoutTools === undefined || when.withoutTools === (facts.tools.length === 0)) &&
    (when.api === undefined || when.api === facts.api)
  )
}

interface QueuedAnswer {
  answer: Answer
  /** Position of the answer in the script: `routes[0].answers[2]`. */
  path: string
}

/** Hands out a list of answers in order, each as often as its `times` says. */
class AnswerQueue {
  readonly #entries: (QueuedAnswer & { left: number })[] = []
  readonly #path: string
  readonly #defaults: Script['defaults']

  constructor(written: readonly ScriptAnswer[], path: string, defaults: Script['defaults']) {
    this.#path = path
    this.#defaults = defaults
    this.continueWith(written)
  }

  continueWith(written: readonly ScriptAnswer[]): void {
    for (const entry of this.#entries) entry.left = 0
    for (const answer of written)
      this.#entries.push({
        answer: toAnswer(answer, this.#defaults),
        path: `${this.#path}[${this.#entries.length}]`,
        left: typeof answer === 'string' ? 1 : (answer.times ?? 1),
      })
  }

  next(): QueuedAnswer | undefined {
    const entry = this.#entries.find(({ left }) => left > 0)
    if (!entry) return undefined
    entry.left -= 1
    return { answer: entry.answer, path: entry.path }
  }

  get remaining(): number {
    return this.#entries.reduce((sum, { left }) => sum + left, 0)
  }
}
