import type { Session, UIEvent } from '@chirality/core'
import { InstantAgent } from './instant-agent.ts'

/** Work of an agent in a turn, by the title of the task: it changes files of the folder. */
export type Work = (folder: string, turn: number) => void

/** An agent of the given works. Its session is that of any agent; only the model is missing. */
export class WorkingAgent extends InstantAgent {
  readonly #works: Record<string, Work>
  readonly #turnsOf = new Map<string, number>()

  constructor(works: Record<string, Work>) {
    super({ writes: false })
    this.#works = works
  }

  override async *startTurn(session: Session, message: string): AsyncGenerator<UIEvent> {
    const title = Object.keys(this.#works).find(one => message.includes(`## Task\n\n${one}\n`)) ?? ''
    const turn = (this.#turnsOf.get(title) ?? 0) + 1
    this.#turnsOf.set(title, turn)
    for await (const event of super.startTurn(session, title)) {
      if (event.type === 'chat:message') this.#works[title]?.(session.workFolder ?? session.projectRoot, turn)
      yield event
    }
  }
}
