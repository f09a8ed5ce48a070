import type { ChildProcess } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildChildEnv } from './env/child-env.ts'
import { startShell } from './process/program/start-program.ts'
import { findByMarker, MARKER_VARIABLE } from './process/system/leftovers.ts'
import { processEnv } from './process/system/process-env.ts'
import { sendSignal } from './process/system/process-table.ts'
import { stopByMarker } from './process/traced-process.ts'

export interface CommandOptions {
  /** The folder that the command runs in. */
  cwd: string
  timeoutMs: number
  /** Set in the environment of the command and of everything it starts, to find it again after a crash. */
  marker: string
  signal?: AbortSignal | undefined
  /** Over the filtered environment. */
  env?: Record<string, string> | undefined
  maxBytes?: number | undefined
  /** Called when it is started, with what tells its output so far: the beginning and the end of it. */
  onStart?: ((output: () => string) => void) | undefined
  /** Gets all of stdout and stderr, also what `output` leaves out. */
  onOutput?: ((chunk: Buffer) => void) | undefined
}

export interface CommandResult {
  command: string
  /** Null if it was stopped. */
  exitCode: number | null
  /** Why there is no exit code, for people. */
  stopped?: string | undefined
  ms: number
  /** What it printed in all. */
  bytes: number
  /** The beginning and the end of it, stdout and stderr as they came. */
  output: string
  /** Processes that it left running, and that were stopped. */
  leftBehind: number
}

/**
 * Runs one command in a shell, in its own process group. When it is over, by itself or by the limit of time or output,
 * nothing that it started runs any more. Its environment is that of agents: without the keys of any.
 */
export async function runCommand(command: string, options: CommandOptions): Promise<CommandResult> {
  const { cwd, timeoutMs, marker, signal, maxBytes = MAX_BYTES } = options
  const { env } = buildChildEnv({ source: processEnv() })
  const outer = env[MARKER_VARIABLE]
  const marked = {
    ...env,
    CI: env.CI ?? '1',
    ...options.env,
    [MARKER_VARIABLE]: outer ? `${outer}:${marker}` : marker,
  }
  const started = performance.now()
  const output = new HeadAndTail()
  let stopped: string | undefined
  const start = startShell('/bin/sh', command, {
    cwd,
    env: marked,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    enclosed: [marker],
  })
  options.onStart?.(() => output.text())
  const program = await start.catch((error: Error) => error)
  if (program instanceof Error) {
    const ms = Math.round(performance.now() - started)
    const stopped = `could not be started: ${program.message}`
    return { command, exitCode: null, stopped, ms, bytes: 0, output: '', leftBehind: 0 }
  }
  const { child, pid, stdout, stderr } = program
  const stop = (why: string) => {
    if (stopped !== undefined) return
    stopped = why
    sendSignal(-pid, 'SIGKILL')
  }
  for (const stream of [stdout, stderr])
    stream?.on('data', (chunk: Buffer) => {
      output.add(chunk)
      options.onOutput?.(chunk)
      if (output.bytes > maxBytes) stop(`printed more than ${maxBytes} bytes`)
    })
  const timer = setTimeout(() => stop(`was not done after ${words(timeoutMs)}`), timeoutMs)
  const abort = () => stop('was stopped')
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  const exitCode = await new Promise<number | null>(resolve => child.once('exit', resolve))
  clearTimeout(timer)
  signal?.removeEventListener('abort', abort)
  // Something in the background may hold the pipes open, so it is ended before the rest is read.
  const leftBehind = await endMarked(marker)
  await Promise.race([closed(child), sleep(CLOSE_GRACE_MS)])
  stdout?.destroy()
  stderr?.destroy()
  return {
    command,
    exitCode: stopped === undefined ? exitCode : null,
    ...(stopped === undefined ? {} : { stopped }),
    ms: Math.round(performance.now() - started),
    bytes: output.bytes,
    output: output.text(),
    leftBehind,
  }
}

/** Stops what a command of a killed server left running. Resolves with how many processes there were. */
export async function endMarked(marker: string): Promise<number> {
  const found = await findByMarker(marker)
  if (found.length > 0) await stopByMarker(marker, { interruptGraceMs: 0 })
  return found.length
}

/** Keeps the first and the last part of a text of any length. */
class HeadAndTail {
  bytes = 0
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    const forHead = chunk.subarray(0, HEAD_BYTES - this.#headBytes)
    if (forHead.length > 0) this.#head.push(Buffer.from(forHead))
    this.#headBytes += forHead.length
    const rest = chunk.subarray(forHead.length).subarray(-TAIL_BYTES)
    if (rest.length === 0) return
    this.#tail.push(Buffer.from(rest))
    this.#tailBytes += rest.length
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= TAIL_BYTES)
      this.#tailBytes -= this.#tail.shift()?.length ?? 0
    // Many small chunks are joined, so that they do not cost more than their bytes.
    if (this.#tail.length > MAX_CHUNKS) this.#tail = [Buffer.concat(this.#tail)]
  }

  text(): string {
    const tail = Buffer.concat(this.#tail).subarray(-TAIL_BYTES)
    const left = this.bytes - this.#headBytes - tail.length
    const head = Buffer.concat(this.#head)
    if (left === 0) return Buffer.concat([head, tail]).toString('utf8')
    return `${head.toString('utf8')}\n… ${left} bytes left out …\n${tail.toString('utf8')}`
  }
}

const HEAD_BYTES = 8 * 1024
const TAIL_BYTES = 24 * 1024
const MAX_CHUNKS = 256
const MAX_BYTES = 256 * 1024 * 1024
const CLOSE_GRACE_MS = 1000

function closed(child: ChildProcess): Promise<void> {
  return new Promise(resolve => child.once('close', () => resolve()))
}

function words(ms: number): string {
  return ms >= 60_000 ? `${Math.round(ms / 6_000) / 10} min` : `${ms / 1000} s`
}
