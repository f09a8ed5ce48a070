import { z } from 'zod'

/** A step of a takeover, and how long it took. */
export interface StepTime {
  step: string
  ms: number
}

/** Of a machine that may say anything, or nothing. */
export const stepTimes = z.object({
  steps: z.array(z.object({ step: z.string().max(40), ms: z.int().min(0) })).max(20),
})

/** Notes when each step is done. */
export class StepTimes {
  readonly list: StepTime[] = []
  #from = performance.now()

  done(step: string): void {
    const now = performance.now()
    this.list.push({ step, ms: Math.round(now - this.#from) })
    this.#from = now
  }

  /** A step that another machine did, by the times that it measured itself. The way there and back is a step of its own. */
  doneThere(way: string, answer: unknown): void {
    const there = stepTimes.safeParse(answer).data?.steps ?? []
    const spent = there.reduce((sum, { ms }) => sum + ms, 0)
    const now = performance.now()
    this.list.push(...there, { step: way, ms: Math.max(0, Math.round(now - this.#from - spent)) })
    this.#from = now
  }
}
