import { type Answer, toAnswer } from './answer.ts'
import type { Script, ScriptAnswer } from './script.ts'

export interface QueuedAnswer {
  answer: Answer
  /** Where the answer stands in the script: `routes[0].answers[2]`. */
  path: string
}

/** Hands out a list of answers in order, each as often as its `times` says. */
export class AnswerQueue {
  readonly #entries: (QueuedAnswer & { left: number })[]

  constructor(written: readonly ScriptAnswer[], path: string, defaults: Script['defaults']) {
    this.#entries = written.map((answer, index) => ({
      answer: toAnswer(answer, defaults),
      path: `${path}[${index}]`,
      left: typeof answer === 'string' ? 1 : (answer.times ?? 1),
    }))
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
