import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { sendSignal } from '../system/process-table.ts'
import { type SpawnError, toSpawnError } from './spawn-error.ts'

export interface RunCommandOptions {
  env: Record<string, string>
  cwd?: string
  timeoutMs?: number
  /** Kills the command at once. */
  signal?: AbortSignal
}

export interface CommandResult {
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
export async function runCommand(
  command: string,
  args: string[],
  options: RunCommandOptions,
): Promise<CommandResult> {
  const { env, cwd = process.cwd(), timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options
  if (signal?.aborted) return NEVER_RAN
  try {
    const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    return await collect(child, timeoutMs, signal)
  } catch (cause) {
    const error = await toSpawnError(cause, command, cwd)
    return { stdout: '', stderr: error.message, code: null, signal: null, timedOut: false, error }
  }
}

const NEVER_RAN: CommandResult = { stdout: '', stderr: '', code: null, signal: null, timedOut: false }
const DEFAULT_TIMEOUT_MS = 15_000
/** How long a grandchild may keep the pipe open after the command itself has exited. */
const CLOSE_GRACE_MS = 500
const MAX_OUTPUT_CHARS = 4 * 1024 * 1024

function collect(child: ChildProcess, timeoutMs: number, stop?: AbortSignal): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const stdout = gather(child.stdout)
    const stderr = gather(child.stderr)
    let timedOut = false
    let closeTimer: NodeJS.Timeout | undefined
    const killGroup = () => child.pid !== undefined && sendSignal(-child.pid, 'SIGKILL')
    const timer = setTimeout(() => {
      timedOut = true
      killGroup()
    }, timeoutMs)
    stop?.addEventListener('abort', killGroup, { once: true })
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
    child.once('error', error => {
      settle()
      reject(error)
    })
    child.once('exit', (code, signal) => {
      settle()
      killGroup()
      closeTimer = setTimeout(finish, CLOSE_GRACE_MS, code, signal)
    })
    child.once('close', finish)
  })
}

function gather(stream: Readable | null): () => string {
  let text = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (chunk: string) => {
    if (text.length < MAX_OUTPUT_CHARS) text += chunk
  })
  return () => text
}
