import { execFile } from 'node:child_process'

export interface CommandResult {
  /** null when it was killed or never started. */
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a short command to its end. Never throws: a command that cannot start is a result with code null. */
export function runCommand(
  command: string,
  args: string[],
  options: { env: Record<string, string>; cwd?: string; timeoutMs?: number },
): Promise<CommandResult> {
  return new Promise(resolve => {
    const child = execFile(
      command,
      args,
      {
        env: options.env,
        cwd: options.cwd,
        timeout: options.timeoutMs ?? TIMEOUT_MS,
        killSignal: 'SIGKILL',
        maxBuffer: MAX_OUTPUT_BYTES,
      },
      (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : null) : 0
        resolve({ code, stdout, stderr: stderr || (error && code === null ? error.message : '') })
      },
    )
    child.stdin?.on('error', () => {})
    child.stdin?.end()
  })
}

/** A status command that takes longer hangs; the doctor must not hang with it. */
const TIMEOUT_MS = 20_000
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024
