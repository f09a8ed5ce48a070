import { spawn } from 'node:child_process'
import { workspaceError } from '../workspace-error.ts'

export interface ProgramEnd {
  /** Null if it took too long, and was killed with all that it started. */
  code: number | null
  stdout: string
  stderr: string
}

export interface ProgramOptions {
  cwd: string
  env: Record<string, string>
  input?: string
  timeoutMs: number
}

/** Runs a program without a terminal: what would ask a person for a password there fails instead of waiting. */
export async function runProgram(
  program: string,
  args: string[],
  { cwd, env, input = '', timeoutMs }: ProgramOptions,
): Promise<ProgramEnd> {
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const outputs = [child.stdout, child.stderr].map(stream => {
    const kept: Buffer[] = []
    let bytes = 0
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_BYTES) kept.push(chunk)
    })
    return () => Buffer.concat(kept).toString('utf8')
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, timeoutMs)
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    const [stdout = '', stderr = ''] = outputs.map(text => text())
    return { code: isLate ? null : (code ?? 1), stdout, stderr }
  } catch (error) {
    throw workspaceError('git-missing', `${program} cannot be run. Install it.`, error)
  } finally {
    clearTimeout(timer)
  }
}

const MAX_BYTES = 1024 * 1024
