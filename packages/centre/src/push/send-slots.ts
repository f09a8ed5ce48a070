export interface SlotLimits {
  /** All that are sent at once. */
  all: number
  /** Of these, at once and waiting: for the sessions of one other machine. */
  machine: number
  waiting: number
}

/**
 * The messages that are sent at once. Those of this machine wait for a place and go first; each other machine has a share,
 * and its messages over `waiting` are dropped: one that asks without end must not keep a request from its user.
 */
export class SendSlots {
  readonly #limits: SlotLimits
  /** By machine; `OWN` is this one. */
  readonly #sending = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(limits: SlotLimits = { all: 64, machine: 16, waiting: 256 }) {
    this.#limits = limits
  }

  /** What gives the place back, when there is one. Undefined: the machine has too many waiting. */
  async take(machine = OWN): Promise<(() => void) | undefined> {
    if (this.#isFree(machine)) this.#count(machine, 1)
    else {
      const queue = this.#waiting.get(machine) ?? []
      if (machine !== OWN && queue.length >= this.#limits.waiting) return undefined
      this.#waiting.set(machine, queue)
      // Whoever gives its place back has counted this one in.
      await new Promise<void>(resolve => queue.push(resolve))
    }
    return () => {
      this.#count(machine, -1)
      this.#next()
    }
  }

  #isFree(machine: string): boolean {
    const all = [...this.#sending.values()].reduce((sum, count) => sum + count, 0)
    if (all >= this.#limits.all) return false
    return machine === OWN || (this.#sending.get(machine) ?? 0) < this.#limits.machine
  }

  #next(): void {
    const machine = [OWN, ...this.#waiting.keys()].find(name => this.#waiting.has(name) && this.#isFree(name))
    if (machine === undefined) return
    const [first, ...others] = this.#waiting.get(machine) ?? []
    // At the end of the row: the machines take turns.
    this.#waiting.delete(machine)
    if (others.length > 0) this.#waiting.set(machine, others)
    this.#count(machine, 1)
    first?.()
  }

  #count(machine: string, by: number): void {
    const count = (this.#sending.get(machine) ?? 0) + by
    if (count === 0) this.#sending.delete(machine)
    else this.#sending.set(machine, count)
  }
}

const OWN = ''
