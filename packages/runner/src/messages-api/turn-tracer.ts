import { randomUUID } from 'node:crypto'
import type { HarnessTurnOpts } from '@chirality/core'
import { readProcess } from '../process/process-table.ts'
import type { HarnessLog } from '../turn/harness-log.ts'
import type { RawLog } from './raw-log.ts'

export interface TracerOptions {
  onProcess?: HarnessTurnOpts['onProcess'] | undefined
  log: HarnessLog
}

/** Tells what a later Chirality needs to read a turn again, and to end the commands that it left. */
export class TurnTracer {
  /**
   * In the environment of every command. New with each turn: whoever runs inside a command, and goes on with the same
   * conversation there, must not find its own parents by it.
   */
  readonly marker = randomUUID()
  readonly #raw: Pick<RawLog, 'path' | 'stderrPath'>
  readonly #options: TracerOptions

  constructor(raw: Pick<RawLog, 'path' | 'stderrPath'>, options: TracerOptions) {
    this.#raw = raw
    this.#options = options
  }

  /** The turn itself. Its loop is part of this process, which nobody may stop on its account. */
  turn(): void {
    this.#tell(NO_PROCESS_ID, '')
  }

  /** Where the environment of a shell may not be read, only its id finds it. */
  async command(pid: number): Promise<void> {
    if (!this.#options.onProcess) return
    const entry = await readProcess(pid).catch(() => undefined)
    this.#tell(pid, entry?.startedAt ?? '')
  }

  /** Whoever cannot keep it loses the turn with this program, but not the turn. */
  #tell(pid: number, startTime: string): void {
    const { path: spoolPath, stderrPath } = this.#raw
    const { onProcess, log } = this.#options
    try {
      onProcess?.({ pid, startTime, marker: this.marker, spoolPath, stderrPath, spoolOffset: 0 })
    } catch (error) {
      log.write('error', 'turn:untraced', { error: String(error) })
    }
  }
}

/** More than any system gives out. */
const NO_PROCESS_ID = 2 ** 31 - 1
