import { randomUUID } from 'node:crypto'
import { readProcess } from '../../process/system/process-table.ts'
import type { AdoptionRecord } from '../../turn/adoption-record.ts'
import type { RawLog } from './raw-log.ts'

/** Tells what a later Chirality needs to read a turn again, and to end the commands that it left. */
export class TurnTracer {
  /**
   * In the environment of every command. New with each turn: whoever runs inside a command, and goes on with the same
   * conversation there, must not find its own parents by it.
   */
  readonly marker = randomUUID()
  readonly #raw: Pick<RawLog, 'path' | 'stderrPath'>
  readonly #record: AdoptionRecord | undefined

  constructor(raw: Pick<RawLog, 'path' | 'stderrPath'>, record?: AdoptionRecord) {
    this.#raw = raw
    this.#record = record
  }

  /** The turn itself. Its loop is part of this process, which nobody may stop on its account. */
  turn(): void {
    this.#tell(NO_PROCESS_ID, '')
  }

  /** Where the environment of a shell may not be read, only its id finds it. */
  async command(pid: number): Promise<void> {
    if (!this.#record?.isKept) return
    const entry = await readProcess(pid).catch(() => undefined)
    this.#tell(pid, entry?.startedAt ?? '')
  }

  #tell(pid: number, startTime: string): void {
    const { path: spoolPath, stderrPath } = this.#raw
    this.#record?.tell({ pid, startTime, marker: this.marker, spoolPath, stderrPath, spoolOffset: 0 })
  }
}

/** More than any system gives out. */
const NO_PROCESS_ID = 2 ** 31 - 1
