import { z } from 'zod'

/** A step of a takeover with its duration. */
export interface StepTime {
  step: string
  ms: number
}

/** Step times reported by another machine, which may send anything. */
export const stepTimes = z.object({
  steps: z.array(z.object({ step: z.string().max(40), ms: z.int().min(0) })).max(20),
})

/** Measures the steps of an operation. */
export class StepTimes {
  readonly list: StepTime[] = []
  #from = performance.now()

  done(step: string): void {
    const now = performance.now()
    this.list.push({ step, ms: Math.round(now - this.#from) })
    this.#from = now
  }

  /** Adds the steps that another machine measured itself. The way there and back is a step of its own. */
  doneThere(way: string, answer: unknown): void {
    const there = stepTimes.safeParse(answer).data?.steps ?? []
    const spent = there.reduce((sum, { ms }) => sum + ms, 0)
    const now = performance.now()
    this.list.push(...there, { step: way, ms: Math.max(0, Math.round(now - this.#from - spent)) })
    this.#from = now
  }
}
