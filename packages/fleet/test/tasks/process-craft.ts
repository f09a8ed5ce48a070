import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { endMarked, findByMarker, MARKER_VARIABLE } from '@chirality/runner'
import { z } from 'zod'
import type { WorkState } from '../../src/rpc/protocol.ts'
import type { Craft } from '../../src/work/work-desk.ts'
import { Marks } from './marks.ts'

const taskOrder = z.object({ work: z.string(), ms: z.number() })

/**
 * Tasks that are processes. Like agents they outlive the server that began them, and the next one finds them. Each marks
 * its beginning and its end in a file outside.
 */
export class ProcessCraft implements Craft {
  readonly #folder: string
  readonly #machine: string
  readonly #file: string
  readonly #marks: Marks
  readonly #children = new Map<string, ChildProcess>()

  constructor({ folder, machine, marks }: { folder: string; machine: string; marks: string }) {
    this.#folder = folder
    this.#machine = machine
    this.#file = marks
    this.#marks = new Marks(marks)
    mkdirSync(folder, { recursive: true })
  }

  async advance(input: unknown): Promise<WorkState> {
    const { work, ms } = taskOrder.parse(input)
    if (isMade(join(this.#folder, `${work}.ordered`))) this.#begin(work, ms)
    return { state: await this.#state(work) }
  }

  async stop(): Promise<WorkState> {
    throw new Error('No task is stopped here.')
  }

  async drop(input: unknown): Promise<void> {
    const { work } = taskOrder.parse(input)
    isMade(join(this.#folder, `${work}.begun`))
    await endMarked(work)
  }

  async tidy(): Promise<void> {}

  /** Whether it was done to its end. False: it was cut off, and will not be gone on with. */
  isDone(work: string): boolean {
    return this.#marks.hasEnded(work)
  }

  #begin(work: string, ms: number): void {
    // The folder is made by whoever is first: the task, or a server that gives it up because it is not there.
    const script = `mkdir "$1.begun" && echo "begin $2 $3" >> "$4" && sleep ${ms / 1000} && echo "end $2 $3" >> "$4"`
    const args = ['-c', script, 'task', join(this.#folder, work), work, this.#machine, this.#file]
    const env = { PATH: process.env.PATH, [MARKER_VARIABLE]: work }
    const child = spawn('/bin/sh', args, { env, stdio: 'ignore', detached: true })
    child.on('error', () => {})
    this.#children.set(work, child)
  }

  async #state(work: string): Promise<WorkState['state']> {
    if (this.#marks.hasEnded(work)) return 'ended'
    const child = this.#children.get(work)
    const isAlive =
      child === undefined
        ? (await findByMarker(work)).length > 0
        : child.exitCode === null && child.signalCode === null
    if (isAlive) return 'working'
    // It was cut off, or never began and cannot begin any more from now on.
    isMade(join(this.#folder, `${work}.begun`))
    return 'ended'
  }
}

/** Whether this call made the folder. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch {
    return false
  }
}
