/**
 * Sessions that this hub placed and that the beats do not count yet. Without them everything placed between two beats
 * would go to the same machine.
 */
export class PlacedSessions {
  /** Per machine: the number of turns with each placed session included, and the beats since. */
  readonly #placed = new Map<string, { busy: number; beats: number }[]>()

  add(machine: string, said: number): void {
    const busy = this.busy(machine, said) + 1
    this.#placed.set(machine, [...(this.#placed.get(machine) ?? []), { busy, beats: 0 }])
  }

  /** Two beats have to pass: the first may have been sent before the turn started. */
  beat(machine: string): void {
    const left = (this.#placed.get(machine) ?? [])
      .map(one => ({ ...one, beats: one.beats + 1 }))
      .filter(({ beats }) => beats < 2)
    if (left.length === 0) this.#placed.delete(machine)
    else this.#placed.set(machine, left)
  }

  /** Number of turns that run there, or soon will. */
  busy(machine: string, said: number): number {
    return Math.max(said, ...(this.#placed.get(machine) ?? []).map(({ busy }) => busy))
  }
}
