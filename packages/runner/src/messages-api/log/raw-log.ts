import { writeFileSync } from 'node:fs'
import { openSpool, type Spool, type SpoolOptions } from '../../process/spool/spool.ts'
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
