import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { write } from '../engine/fleet-files.ts'

export interface NotesOptions<N> {
  folder: string
  schema: z.ZodType<N>
  /** File name of a note. */
  nameOf: (note: N) => string
  /** Subject of a note; only one operation at a time runs on it. */
  aboutOf: (note: N) => string
  /** Subjects that are being worked on, shared with other holders of notes. */
  running: Set<string>
  /** Pause between two attempts. */
  againMs: number
}

/**
 * Notes of operations that this hub started and did not finish, one file each. A hub that was killed finds them at its
 * next start and finishes them.
 */
export class Notes<N extends { move: string }> {
  readonly #options: NotesOptions<N>
  #nextTry = 0
  #pass: Promise<void> | undefined

  constructor(options: NotesOptions<N>) {
    this.#options = options
  }

  /** Resolves when the note is on the disk. */
  async write(note: N): Promise<void> {
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 })
    await write(this.#file(note), JSON.stringify(note))
  }

  /** Removes the note, unless the file holds a later one. */
  remove(note: N): void {
    const stored = this.#read(this.#file(note))
    if (stored === undefined || stored.move === note.move) rmSync(this.#file(note), { force: true })
  }

  /** Damaged notes are left out. */
  list(): N[] {
    const { folder } = this.#options
    return namesIn(folder).flatMap(name => this.#read(join(folder, name)) ?? [])
  }

  of(about: string): N[] {
    return this.list().filter(note => this.#options.aboutOf(note) === about)
  }

  /** Finishes the noted operations in the background, at intervals: a machine that does not answer takes its time. */
  finishSoon(finish: (note: N) => Promise<unknown>): void {
    if (performance.now() < this.#nextTry) return
    this.#nextTry = performance.now() + this.#options.againMs
    void this.finishAll(finish)
  }

  /**
   * Finishes the noted operations one after another, in one pass at a time. A failed one stays noted: a machine is
   * away, or answered nonsense.
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
        // The note may have been finished or replaced since the list was read.
        const note = this.#read(this.#file(listed))
        if (note !== undefined) await finish(note)
      } catch {
        // Left for the next attempt.
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
