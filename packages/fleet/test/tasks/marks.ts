import { readFileSync, statSync } from 'node:fs'

/** Marks in the file that a task's process writes: one line for its start and one for its end. */
export interface Mark {
  what: 'begin' | 'end'
  work: string
  machine: string
}

/** A file that only processes of tasks append to. No machine, hub or broker writes it: it says what was really run. */
export class Marks {
  readonly #file: string
  #size = 0
  #marks: Mark[] = []

  constructor(file: string) {
    this.#file = file
  }

  all(): Mark[] {
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
    if (size === this.#size) return this.#marks
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1)
    this.#size = size
    this.#marks = lines.map(line => {
      const [what, work = '', machine = ''] = line.split(' ')
      if (what !== 'begin' && what !== 'end') throw new Error(`A mark is damaged: ${line}`)
      return { what, work, machine }
    })
    return this.#marks
  }

  hasEnded(work: string): boolean {
    return this.all().some(mark => mark.what === 'end' && mark.work === work)
  }
}

/** The task of a piece of work: one that was lost is begun anew under the next name. */
export function taskOf(work: string): string {
  return work.slice(0, work.lastIndexOf('-'))
}
