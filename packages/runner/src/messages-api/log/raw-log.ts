import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { openSpool, type Spool, type SpoolOptions } from '../../process/spool/spool.ts'
import { readProcess } from '../../process/system/process-table.ts'
import type { AdoptionRecord } from '../../turn/adoption-record.ts'
import type { MessagesApiEvent } from './native-event.ts'

/** The spool of a turn, written by this process because there is no agent process. */
export class RawLogWriter {
  readonly path: string
  /** Stays empty, but readers of raw logs expect both files. */
  readonly stderrPath: string
  readonly #spool: Spool
  #failure: unknown

  private constructor(spool: Spool) {
    this.path = spool.path
    this.stderrPath = spool.stderrPath
    this.#spool = spool
  }

  static async open(options: SpoolOptions): Promise<RawLogWriter> {
    return new RawLogWriter(await openSpool(options))
  }

  /** A write error, such as a full disk, does not end a turn that the user pays for; it is reported at the end. */
  write(event: MessagesApiEvent): void {
    if (this.#failure !== undefined) return
    try {
      writeFileSync(this.#spool.stdout.writeFd, `${JSON.stringify(event)}\n`)
    } catch (error) {
      this.#failure = error
    }
  }

  /** The error that stopped the writing. */
  get failure(): unknown {
    return this.#failure
  }

  close(): Promise<void> {
    return this.#spool.close()
  }

  /** Deletes the log of a turn that did not start. */
  discard(): Promise<void> {
    return this.#spool.discard()
  }
}

/** Records what a later Chirality needs to read the turn again and to stop its remaining commands. */
export class TurnTracer {
  /**
   * A variable in the environment of every command, new for each turn: a command that continues the same conversation
   * must not take its own parent processes for leftovers.
   */
  readonly marker = randomUUID()
  readonly #raw: Pick<RawLogWriter, 'path' | 'stderrPath'>
  readonly #record: AdoptionRecord | undefined

  constructor(raw: Pick<RawLogWriter, 'path' | 'stderrPath'>, record?: AdoptionRecord) {
    this.#raw = raw
    this.#record = record
  }

  /** Records the turn without a process: its loop runs in this process, which must not be stopped for it. */
  turn(): void {
    this.#tell(NO_PROCESS_ID, '')
  }

  /** The shell's id identifies it where the environment of a process cannot be read. */
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

/** Higher than any process id of the system. */
const NO_PROCESS_ID = 2 ** 31 - 1
