import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { write } from '../engine/fleet-files.ts'

export interface NotesOptions<N> {
  folder: string
  schema: z.ZodType<N>
  /** The name of its file. */
  nameOf: (note: N) => string
  /** What it is about: one thing at a time is done about it. */
  aboutOf: (note: N) => string
  /** What something is done about just now, also by others. */
  running: Set<string>
  /** Between two tries. */
  againMs: number
}

/** What this hub began and did not end, a file for each. A hub that was killed finds it, and finishes it. */
export class Notes<N extends { move: string }> {
  readonly #options: NotesOptions<N>
  #nextTry = 0
  #pass: Promise<void> | undefined

  constructor(options: NotesOptions<N>) {
    this.#options = options
  }

  /** Resolves when it is on the disk. */
  async write(note: N): Promise<void> {
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 })
    await write(this.#file(note), JSON.stringify(note))
  }

  /** Not a later one in the same file. */
  remove(note: N): void {
    const stored = this.#read(this.#file(note))
    if (stored === undefined || stored.move === note.move) rmSync(this.#file(note), { force: true })
  }

  /** A damaged one is as none. */
  list(): N[] {
    const { folder } = this.#options
    return namesIn(folder).flatMap(name => this.#read(join(folder, name)) ?? [])
  }

  of(about: string): N[] {
    return this.list().filter(note => this.#options.aboutOf(note) === about)
  }

  /** Now and then, beside everything else: a machine that does not answer takes its time. */
  finishSoon(finish: (note: N) => Promise<unknown>): void {
    if (performance.now() < this.#nextTry) return
    this.#nextTry = performance.now() + this.#options.againMs
    void this.finishAll(finish)
  }

  /**
   * One after the other, in one pass at a time. What rejects stays noted: a machine is away, or answers nonsense.
   */
  finishAll(finish: (note: N) => Promise<unknown>): Promise<void> {
    this.#pass ??= this.#finishEach(finish).finally(() => {
      this.#pass = undefined
    })
    return this.#pass
  }

  async #finishEach(finish: (note: N) => Promise<unknown>): Promise<void> {
    const { running, aboutOf } = this.#options
    for (const listed of this.list()) {
      const about = aboutOf(listed)
      if (running.has(about)) continue
      running.add(about)
      try {
        // It may have been finished or replaced since the list was read.
        const note = this.#read(this.#file(listed))
        if (note !== undefined) await finish(note)
      } catch {
        // The next try may have more luck.
      } finally {
        running.delete(about)
      }
    }
  }

  #read(file: string): N | undefined {
    try {
      return this.#options.schema.parse(JSON.parse(readFileSync(file, 'utf8')))
    } catch {
      return undefined
    }
  }

  #file(note: N): string {
    return join(this.#options.folder, `${this.#options.nameOf(note)}.json`)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(name => name.endsWith('.json'))
  } catch {
    return []
  }
}
