import type { TurnProcess } from '@chirality/core'
import type { AgentProcess, ProcessExit } from './agent-process.ts'
import { type AgentOutput, type AgentOutputOptions, AgentOutputReader } from './output/agent-output.ts'
import { type LostOutput, watchLostOutput } from './spool/lost-output.ts'
import { reopenSpool, type SpoolPlace } from './spool/reopen-spool.ts'
import type { SpoolSource } from './spool/spool-source.ts'
import type { StopOptions, StopReport } from './stop/stop.ts'
import { TracedProcess } from './traced-process.ts'

export interface AdoptAgentOptions extends SpoolPlace, Pick<AgentOutputOptions, 'maxLineBytes' | 'watch'> {
  process: TurnProcess
}

/**
 * An agent that a previous server started, running or exited: its output from `spoolOffset` on. Its exit code is not
 * known, and its stdin is closed. Rejects with a SpoolError; a running process is left alone in that case.
 */
export async function adoptAgent(options: AdoptAgentOptions): Promise<AgentProcess> {
  const spool = await reopenSpool(options.process, options)
  return new AdoptedAgent(await TracedProcess.find(options.process), spool, options)
}

class AdoptedAgent implements AgentProcess {
  readonly pid: number
  readonly marker: string
  readonly spoolPath: string
  readonly stderrPath: string
  readonly exited: Promise<ProcessExit>
  readonly #lost: LostOutput
  readonly #process: TracedProcess
  readonly #spool: SpoolSource
  readonly #reader: AgentOutputReader

  constructor(process: TracedProcess, spool: SpoolSource, options: AdoptAgentOptions) {
    const { pid, marker, spoolPath, stderrPath, spoolOffset } = options.process
    this.pid = pid
    this.marker = marker
    this.spoolPath = spoolPath
    this.stderrPath = stderrPath
    this.#process = process
    this.#spool = spool
    const onLost = () => void this.stop({ interruptGraceMs: 0 })
    this.#lost = watchLostOutput({ stdout: spool.stdout, onLost })
    const { onTorn } = this.#lost
    this.#reader = new AgentOutputReader({ ...options, spool, offset: spoolOffset, onTorn })
    if (process.hasExited) this.#ended()
    const adoptedAt = performance.now()
    this.exited = process.exited.then(() => {
      this.#ended()
      const durationMs = performance.now() - adoptedAt
      return { code: null, signal: null, durationMs, stopped: process.stopped }
    })
  }

  get fault(): string | null {
    return this.#lost.reason
  }

  async read(): Promise<AgentOutput[] | undefined> {
    const batch = await this.#reader.read()
    if (batch === undefined) await this.close()
    return batch
  }

  async write(): Promise<boolean> {
    return false
  }

  endInput(): void {}

  signal(signal: NodeJS.Signals): boolean {
    return this.#process.signal(signal)
  }

  stop(options?: StopOptions): Promise<StopReport> {
    return this.#process.stop(options)
  }

  close(): Promise<void> {
    this.#lost.end()
    this.#process.close()
    this.#reader.close()
    return this.#spool.close()
  }

  #ended(): void {
    this.#lost.end()
    this.#reader.end()
  }
}
