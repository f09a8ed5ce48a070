import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import path from 'node:path'
import type { TurnProcess } from '@chirality/core'
import { errnoOf } from '@chirality/disk'
import type { AgentProcess, ProcessExit } from './agent-process.ts'
import { type AgentOutput, type AgentOutputOptions, AgentOutputReader } from './output/agent-output.ts'
import { ensureLogDirectory } from './spool/log-directory.ts'
import { type LostOutput, watchLostOutput } from './spool/lost-output.ts'
import { SpoolError, toSpoolError, unsafeSymlink } from './spool/spool-error.ts'
import { type SpoolReadEnd, type SpoolSource, settleSpool } from './spool/spool-source.ts'
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

/** The harness that the raw log belongs to: logs of other harnesses are not read. */
export interface SpoolPlace {
  projectRoot: string
  harness: string
}

/** The raw log of a run that another process began. Throws a SpoolError if it is not the original file. */
async function reopenSpool(
  { spoolPath, stderrPath, spoolOffset }: Pick<TurnProcess, 'spoolPath' | 'stderrPath' | 'spoolOffset'>,
  { projectRoot, harness }: SpoolPlace,
): Promise<SpoolSource> {
  const ensureDirectory = () => ensureLogDirectory(projectRoot, harness)
  const directory = await ensureDirectory()
  const stdout = openOwn(spoolPath, directory)
  if (stdout === undefined) throw lost(spoolPath, 'is gone')
  try {
    if (fstatSync(stdout.readFd).size < spoolOffset) throw lost(spoolPath, 'was cut')
    const stderr = openOwn(stderrPath, directory)
    let isOpen = true
    const close = async () => {
      if (!isOpen) return
      isOpen = false
      try {
        await settleSpool({ stdout, stderr }, ensureDirectory)
      } finally {
        for (const end of [stdout, stderr]) if (end) closeSync(end.readFd)
      }
    }
    return { path: spoolPath, stderrPath, stdout, ...(stderr ? { stderr } : {}), close }
  } catch (error) {
    closeSync(stdout.readFd)
    throw error
  }
}

/** Undefined if there is none. A trace is a file in the project, so the paths in it are not trusted. */
function openOwn(file: string, directory: string): SpoolReadEnd | undefined {
  if (path.dirname(file) !== directory || path.basename(file) === '..') {
    throw new SpoolError('unsafe', file, `${file} is not in ${directory}, where raw logs are.`)
  }
  const readFd = openForReading(file)
  if (readFd === undefined) return undefined
  const stats = fstatSync(readFd)
  const uid = process.getuid?.()
  if (stats.isFile() && (uid === undefined || stats.uid === uid)) return { path: file, readFd }
  closeSync(readFd)
  const fault = stats.isFile() ? `belongs to another user (uid ${stats.uid})` : 'is not a file'
  throw new SpoolError('unsafe', file, `${file} ${fault}, so it is not the raw log that was written there.`)
}

function openForReading(file: string): number | undefined {
  try {
    // Opened non-blocking: a FIFO at this path would block the open forever.
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    if (errnoOf(error) === 'ELOOP') throw unsafeSymlink(file, error)
    throw toSpoolError(error, file)
  }
}

function lost(file: string, what: string): SpoolError {
  return new SpoolError('lost', file, `The raw log ${file} ${what}, so what the agent said cannot be read.`)
}
