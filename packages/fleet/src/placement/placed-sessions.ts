/**
 * Sessions that this hub placed and that the beats of their machines do not count yet: without them, all that is placed
 * within one beat goes to the machine that was the best at its beginning.
 */
export class PlacedSessions {
  /** For each machine how many turns it would have with each of them, and how many beats came since. */
  readonly #placed = new Map<string, { busy: number; beats: number }[]>()

  add(machine: string, said: number): void {
    const busy = this.busy(machine, said) + 1
    this.#placed.set(machine, [...(this.#placed.get(machine) ?? []), { busy, beats: 0 }])
  }

  /** The first beat may have been on its way, or come before the turn began. */
  beat(machine: string): void {
    const left = (this.#placed.get(machine) ?? [])
      .map(one => ({ ...one, beats: one.beats + 1 }))
      .filter(({ beats }) => beats < 2)
    if (left.length === 0) this.#placed.delete(machine)
    else this.#placed.set(machine, left)
  }

  /** How many turns run there, or soon will. */
  busy(machine: string, said: number): number {
    return Math.max(said, ...(this.#placed.get(machine) ?? []).map(({ busy }) => busy))
  }
}
