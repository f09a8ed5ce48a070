import type { ChildProcess } from 'node:child_process'
import { MARKER_VARIABLE, startProgram } from '@chirality/runner'
import { notStarted } from './git.ts'

export interface ProgramEnd {
  /** Null if it took too long and was killed with all that it started. */
  code: number | null
  stdout: string
  stderr: string
}

export interface ProgramOptions {
  cwd: string
  env: Record<string, string>
  input?: string
  timeoutMs: number
  /** Marks the program and its children, so that the next process finds them if this one is killed. */
  marker?: string | undefined
}

/** Runs a program without a terminal: one that asks for a password fails instead of waiting. */
export async function runProgram(
  program: string,
  args: string[],
  { cwd, env, input = '', timeoutMs, marker }: ProgramOptions,
): Promise<ProgramEnd> {
  const markers = [env[MARKER_VARIABLE], marker].filter(Boolean).join(':')
  const endedBefore = timesEnded
  const { child, stdin, stdout, stderr } = await startProgram(program, args, {
    cwd,
    env: marker === undefined ? env : { ...env, [MARKER_VARIABLE]: markers },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    enclosed: marker === undefined ? undefined : [marker],
  }).catch(error => {
    throw notStarted(program, error)
  })
  running.add(child)
  if (timesEnded > endedBefore) killGroup(child)
  stdin?.end(input)
  const outputs = [stdout, stderr].map(stream => {
    const kept: Buffer[] = []
    let bytes = 0
    stream?.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_BYTES) kept.push(chunk)
    })
    return () => Buffer.concat(kept).toString('utf8')
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    killGroup(child)
  }, timeoutMs)
  let held: NodeJS.Timeout | undefined
  try {
    const code = await new Promise<number | null>(resolve => {
      child.once('close', resolve)
      // A child may live on and hold the output, such as a daemon that stores passwords.
      child.once('exit', ended => {
        clearTimeout(timer)
        // The output written so far is read before the immediate runs.
        held = setTimeout(() => setImmediate(() => resolve(ended)), HELD_MS)
      })
    })
    const [said = '', failed = ''] = outputs.map(text => text())
    return { code: isLate ? null : (code ?? 1), stdout: said, stderr: failed }
  } finally {
    clearTimeout(timer)
    clearTimeout(held)
    running.delete(child)
    stdout?.destroy()
    stderr?.destroy()
  }
}

/** Kills all running programs with their children, so that none outlives a server that ends. */
export function endPrograms(): void {
  timesEnded += 1
  for (const child of running) killGroup(child)
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes have ended already.
  }
}

const running = new Set<ChildProcess>()
/** Counts calls of `endPrograms`: a program that is just starting is not yet in `running`. */
let timesEnded = 0
const HELD_MS = 1000
const MAX_BYTES = 1024 * 1024
