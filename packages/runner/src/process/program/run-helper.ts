import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import { sendSignal } from '../system/process-table.ts'
import { SpawnError } from './spawn-error.ts'
import { startProgram } from './start-program.ts'

export interface HelperOptions {
  env: Record<string, string>
  cwd?: string
  timeoutMs?: number
  /** Of each stream; what is beyond it is dropped. Default 4 Mi. */
  maxChars?: number
  /** Kills the command at once. */
  signal?: AbortSignal
}

export interface HelperResult {
  stdout: string
  stderr: string
  /** null if it was killed or never started. */
  code: number | null
  signal: NodeJS.Signals | null
  timedOut: boolean
  /** The command could not be started. `stderr` has the message then. */
  error?: SpawnError
}

/** Runs a short helper command, such as `claude --version`. A failure is part of the result, not an exception. */
export async function runHelper(
  command: string,
  args: string[],
  options: HelperOptions,
): Promise<HelperResult> {
  const { env, cwd = process.cwd(), signal } = options
  if (signal?.aborted) return NEVER_RAN
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  try {
    const { child } = await startProgram(command, args, { env, cwd, stdio, detached: true })
    return await collect(child, options)
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error
    return { stdout: '', stderr: error.message, code: null, signal: null, timedOut: false, error }
  }
}

const NEVER_RAN: HelperResult = { stdout: '', stderr: '', code: null, signal: null, timedOut: false }
const DEFAULT_TIMEOUT_MS = 15_000
/** How long a grandchild may keep the pipe open after the command itself has exited. */
const CLOSE_GRACE_MS = 500
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024

function collect(child: ChildProcess, options: HelperOptions): Promise<HelperResult> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal: stop, maxChars = MAX_OUTPUT_CHARS } = options
  return new Promise(resolve => {
    const stdout = gather(child.stdout, maxChars)
    const stderr = gather(child.stderr, maxChars)
    let timedOut = false
    let closeTimer: NodeJS.Timeout | undefined
    const killGroup = () => child.pid !== undefined && sendSignal(-child.pid, 'SIGKILL')
    const timer = setTimeout(() => {
      timedOut = true
      killGroup()
    }, timeoutMs)
    stop?.addEventListener('abort', killGroup, { once: true })
    if (stop?.aborted) killGroup()
    const settle = () => {
      clearTimeout(timer)
      stop?.removeEventListener('abort', killGroup)
    }
    const finish = (code: number | null, signal: NodeJS.Signals | null) => {
      clearTimeout(closeTimer)
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ stdout: stdout(), stderr: stderr(), code, signal, timedOut })
    }
    child.once('exit', (code, signal) => {
      settle()
      killGroup()
      closeTimer = setTimeout(finish, CLOSE_GRACE_MS, code, signal)
    })
    child.once('close', finish)
  })
}

function gather(stream: Readable | null, maxChars: number): () => string {
  let text = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk: string) => {
    if (text.length < maxChars) text += chunk
  })
  return () => text
}
