import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { openSpool, type Spool, type SpoolOptions } from '../../process/spool/spool.ts'
import { readProcess } from '../../process/system/process-table.ts'
import type { AdoptionRecord } from '../../turn/adoption-record.ts'
import type { MessagesApiEvent } from './native-event.ts'

/** The spool of a turn that we write ourselves, because there is no process to do it. */
export class RawLog {
  readonly path: string
  /** Nothing is ever written there, but whoever reads a raw log expects the pair. */
  readonly stderrPath: string
  readonly #spool: Spool
  #failure: unknown

  private constructor(spool: Spool) {
    this.path = spool.path
    this.stderrPath = spool.stderrPath
    this.#spool = spool
  }

  static async open(options: SpoolOptions): Promise<RawLog> {
    return new RawLog(await openSpool(options))
  }

  /** A full disk must not end a turn that a person pays for: they are told of it at its end. */
  write(event: MessagesApiEvent): void {
    if (this.#failure !== undefined) return
    try {
      writeFileSync(this.#spool.stdout.writeFd, `${JSON.stringify(event)}\n`)
    } catch (error) {
      this.#failure = error
    }
  }

  /** Why it stopped, if it did. */
  get failure(): unknown {
    return this.#failure
  }

  close(): Promise<void> {
    return this.#spool.close()
  }

  /** There was no turn. */
  discard(): Promise<void> {
    return this.#spool.discard()
  }
}

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
