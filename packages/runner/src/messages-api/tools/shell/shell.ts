import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { SpawnError } from '../../../process/program/spawn-error.ts'
import { type StartedProgram, startShell } from '../../../process/program/start-program.ts'
import { StopLadder, type StopOptions } from '../../../process/stop/stop.ts'
import { chainMarker, findByMarker, MARKER_VARIABLE } from '../../../process/system/leftovers.ts'
import { sendSignal, startTimeNow } from '../../../process/system/process-table.ts'
import { removeRunGroup } from '../../../process/system/run-group.ts'
import { type BuiltInTool, numberOf, objectSchema, textOf } from '../built-in-tool.ts'

export interface ShellOptions {
  cwd: string
  /** A variable in the environment of every command and its children, in addition to one of the command itself. */
  marker: string
  env: Record<string, string>
  stop?: StopOptions | undefined
  /** Called for each running command, before its result. */
  onCommand?(pid: number): Promise<void>
}

export interface ShellCommandOptions {
  timeoutMs: number
  signal: AbortSignal
  /** Called with new output, at most a few times a second. */
  onOutput?(piece: string, elapsedMs: number): void
}

export interface ShellResult {
  stdout: string
  stderr: string
  exitCode: number | null
  exitSignal: string | null
  timedOut: boolean
  interrupted: boolean
  /** Output beyond the limit was dropped. */
  isCut: boolean
  durationMs: number
}

/** The commands of one turn. Their remaining processes are stopped at the end of the turn. */
export class Shell {
  readonly #options: ShellOptions
  readonly #commands = new Set<RunningCommand>()

  constructor(options: ShellOptions) {
    this.#options = options
  }

  /** Rejects only when the command cannot be started. */
  async run(command: string, options: ShellCommandOptions): Promise<ShellResult> {
    const { cwd, env, stop, onCommand } = this.#options
    const marker = randomUUID()
    const outer = chainMarker(this.#options.marker, env[MARKER_VARIABLE])
    const marked = { ...env, [MARKER_VARIABLE]: chainMarker(marker, outer) }
    const startedAt = performance.now()
    const enclosed = [this.#options.marker, marker]
    const child = await start(command, { cwd, env: marked, enclosed })
    const running = new RunningCommand(child, { marker, startedAt, options })
    this.#commands.add(running)
    const [result] = await Promise.all([running.finish(stop), onCommand?.(child.pid)])
    return result
  }

  /** Stops the remaining processes of the commands and returns their number. */
  async close(): Promise<number> {
    const hasLeftovers =
      [...this.#commands].some(command => command.leftGroupBehind) ||
      (this.#commands.size > 0 && (await findByMarker(this.#options.marker)).length > 0)
    const stopped = new Set<number>()
    for (const command of this.#commands) {
      if (hasLeftovers) for (const pid of await command.stop(this.#options.stop)) stopped.add(pid)
      command.release()
    }
    this.#commands.clear()
    removeRunGroup(this.#options.marker)
    return stopped.size
  }
}

const SHELL = '/bin/sh'
const BASH = '/bin/bash'
const HEAD_BYTES = 16 * 1024
const TAIL_BYTES = 16 * 1024
/** How long a background process may hold the pipes after the command has ended. */
const DRAIN_MS = 200
const TELL_EVERY_MS = 250
const MAX_TOLD_CHARS = 4000

interface SpawnOptions {
  cwd: string
  env: Record<string, string>
  /** The markers of the enclosing groups, outermost first. */
  enclosed: string[]
}

async function start(command: string, options: SpawnOptions): Promise<ChildProcess & { pid: number }> {
  const { child, pid } = await startIn(BASH, command, options).catch((error: unknown) => {
    if (error instanceof SpawnError && error.code === 'command-missing')
      return startIn(SHELL, command, options)
    throw error
  })
  return Object.assign(child, { pid })
}

function startIn(shell: string, command: string, options: SpawnOptions): Promise<StartedProgram> {
  // Its own process group, without a terminal.
  return startShell(shell, command, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
}

interface CommandFacts {
  marker: string
  startedAt: number
  options: ShellCommandOptions
}

class RunningCommand {
  leftGroupBehind = false
  readonly #child: ChildProcess & { pid: number }
  readonly #facts: CommandFacts
  readonly #stdout = new HeadTail(HEAD_BYTES, TAIL_BYTES)
  readonly #stderr = new HeadTail(HEAD_BYTES, TAIL_BYTES)
  readonly #exited: Promise<void>
  readonly #closed: Promise<void>
  readonly #ladder: StopLadder
  #hasExited = false
  #isTold = false
  #untold = ''
  #toldAt: number

  constructor(child: ChildProcess & { pid: number }, facts: CommandFacts) {
    this.#child = child
    this.#facts = facts
    this.#toldAt = facts.startedAt
    this.#exited = new Promise(resolve => {
      child.once('exit', () => {
        this.#hasExited = true
        this.leftGroupBehind = sendSignal(-child.pid, 0)
        resolve()
      })
    })
    this.#closed = new Promise(resolve => child.once('close', () => resolve()))
    child.stdout?.on('data', (chunk: Buffer) => this.#take(this.#stdout, chunk))
    child.stderr?.on('data', (chunk: Buffer) => this.#take(this.#stderr, chunk))
    this.#ladder = new StopLadder({
      pid: child.pid,
      marker: facts.marker,
      startTime: startTimeNow(child.pid),
      exited: this.#exited,
      hasExited: () => this.#hasExited,
      leftGroupBehind: () => this.leftGroupBehind,
    })
  }

  async finish(stop: StopOptions | undefined): Promise<ShellResult> {
    const { signal, timeoutMs } = this.#facts.options
    let timedOut = false
    let interrupted = false
    const onAbort = () => {
      interrupted = true
      void this.stop(stop)
    }
    const timer = setTimeout(() => {
      timedOut = true
      void this.stop(stop)
    }, timeoutMs)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    await this.#exited
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    if (timedOut || interrupted) await this.stop(stop)
    await this.#drained()
    this.#tell()
    this.#isTold = true
    return {
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      exitCode: this.#child.exitCode,
      exitSignal: this.#child.signalCode,
      timedOut,
      interrupted,
      isCut: this.#stdout.isCut || this.#stderr.isCut,
      durationMs: Math.round(performance.now() - this.#facts.startedAt),
    }
  }

  /** Returns the ids of the stopped processes. */
  async stop(options: StopOptions | undefined): Promise<number[]> {
    // SIGINT is skipped: a command has no turn that it could finish.
    const report = await this.#ladder.stop({ termGraceMs: TERM_GRACE_MS, ...options, interruptGraceMs: 0 })
    return report.stopped
  }

  release(): void {
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  async #drained(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, DRAIN_MS)
    })
    await Promise.race([this.#closed, late])
    clearTimeout(timer)
  }

  #take(into: HeadTail, chunk: Buffer): void {
    // The pipe of a background process is read, so that it does not block, and the output is dropped.
    if (this.#isTold) return
    into.push(chunk)
    if (this.#untold.length < MAX_TOLD_CHARS) this.#untold += chunk.toString('utf8', 0, MAX_TOLD_CHARS)
    if (performance.now() - this.#toldAt >= TELL_EVERY_MS) this.#tell()
  }

  #tell(): void {
    const { options, startedAt } = this.#facts
    const elapsedMs = performance.now() - startedAt
    // A short command needs no progress: its result has all output.
    if (this.#untold === '' || elapsedMs < TELL_EVERY_MS) return
    this.#toldAt = performance.now()
    options.onOutput?.(this.#untold.slice(0, MAX_TOLD_CHARS), elapsedMs)
    this.#untold = ''
  }
}

const TERM_GRACE_MS = 2000

/** Keeps the beginning and the end of a text, in bounded memory. */
export class HeadTail {
  readonly #headBytes: number
  readonly #tailBytes: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer[] = []
  #tailSize = 0
  #total = 0

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes
    this.#tailBytes = tailBytes
  }

  get bytes(): number {
    return this.#total
  }

  get isCut(): boolean {
    return this.#total > this.#headBytes + this.#tailBytes
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length
    const room = this.#headBytes - this.#headSize
    const first = chunk.subarray(0, Math.max(0, room))
    if (first.length > 0) {
      // A copy: a slice would keep the whole buffer in memory.
      this.#head.push(Buffer.from(first))
      this.#headSize += first.length
    }
    const rest = chunk.subarray(first.length)
    if (rest.length === 0) return
    this.#tail.push(Buffer.from(rest.subarray(-this.#tailBytes)))
    this.#tailSize += Math.min(rest.length, this.#tailBytes)
    if (this.#tailSize > 2 * this.#tailBytes) this.#trim()
  }

  text(): string {
    this.#trim()
    const head = Buffer.concat(this.#head)
    const tail = Buffer.concat(this.#tail)
    const left = this.#total - head.length - tail.length
    if (left === 0) return Buffer.concat([head, tail]).toString()
    return `${head.toString()}\n[${left} bytes left out]\n${tail.toString()}`
  }

  #trim(): void {
    if (this.#tailSize <= this.#tailBytes) return
    const all = Buffer.concat(this.#tail)
    this.#tail = [Buffer.from(all.subarray(-this.#tailBytes))]
    this.#tailSize = this.#tailBytes
  }
}

export type ToolProgress = (progress: {
  toolUseId: string
  toolName: string
  output: string
  elapsedMs: number
}) => void

export function bashTool(shell: Shell, onProgress?: ToolProgress): BuiltInTool {
  return {
    name: 'bash',
    effect: 'run',
    description: `Runs a shell command in the project folder and waits for it. What it leaves in the background is ended with your turn. Default time limit ${DEFAULT_TIMEOUT_MS / 1000} s. Of long output the middle is left out.`,
    inputSchema: objectSchema(
      {
        command: { type: 'string', minLength: 1 },
        timeout: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS, description: 'Milliseconds' },
        description: { type: 'string', description: 'What it does, in a few words' },
      },
      ['command'],
    ),
    subject: input => textOf(input.command),
    async execute(input, { signal, toolUseId }) {
      const command = String(input.command)
      if (command.includes('\0')) return { content: 'The command has a NUL character in it.', isError: true }
      const timeoutMs = numberOf(input.timeout) ?? DEFAULT_TIMEOUT_MS
      const result = await shell.run(command, {
        timeoutMs,
        signal,
        onOutput: (output, elapsedMs) => onProgress?.({ toolUseId, toolName: 'bash', output, elapsedMs }),
      })
      return { content: describe(result, timeoutMs), isError: hasFailed(result), detail: result }
    },
  }
}

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

function hasFailed({ exitCode, timedOut, interrupted }: ShellResult): boolean {
  return timedOut || interrupted || exitCode !== 0
}

function describe(result: ShellResult, timeoutMs: number): string {
  const { stdout, stderr, timedOut, interrupted, exitCode, exitSignal } = result
  const end = timedOut
    ? `Ended after ${timeoutMs} ms, its time limit.`
    : interrupted
      ? 'Interrupted by the user.'
      : exitSignal !== null
        ? `Ended by ${exitSignal}.`
        : exitCode === 0
          ? ''
          : `Exit code ${exitCode}.`
  const parts = [stdout, stderr, end].map(part => part.replace(/\n$/, '')).filter(part => part !== '')
  return parts.join('\n') || 'Done, without output.'
}
