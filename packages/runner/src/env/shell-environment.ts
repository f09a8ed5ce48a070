import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { startProgram } from '../process/program/start-program.ts'
import { processEnv } from '../process/system/process-env.ts'
import { sendSignal } from '../process/system/process-table.ts'

/**
 * The environment of the user's login shell. A program started from a dock or a service has a minimal PATH and would
 * not find the agents. Empty when the shell is missing, fails or hangs. Read once per shell and process.
 */
export function detectShellEnvironment(shell = defaultShell()): Promise<Record<string, string>> {
  const known = cache.get(shell)
  if (known !== undefined) return known
  const detected = readShellEnvironment(shell, SHELL_TIMEOUT_MS)
  cache.set(shell, detected)
  return detected
}

export async function readShellEnvironment(
  shell: string,
  timeoutMs: number,
): Promise<Record<string, string>> {
  if (!isAbsolute(shell)) return {}
  // Start-up files can print text, so the output is enclosed in unique marks.
  const mark = randomUUID()
  const script = `process.stdout.write("${mark}"+JSON.stringify(process.env)+"${mark}")`
  const command = `'${process.execPath.replaceAll("'", "'\\''")}' -e '${script}'`
  const program = await startProgram(shell, ['-lic', command], {
    env: processEnv(),
    stdio: ['ignore', 'pipe', 'ignore'],
    // A new session: an interactive shell that cannot get the terminal would stop itself.
    detached: true,
  }).catch(() => undefined)
  if (program === undefined) return {}
  const { child, pid, stdout } = program
  return await new Promise(resolve => {
    let text = ''
    const finish = () => {
      clearTimeout(timer)
      // A daemon from a start-up file may hold the pipe open forever.
      stdout?.destroy()
      if (child.exitCode === null && child.signalCode === null) sendSignal(-pid, 'SIGKILL')
      resolve(parseMarked(text, mark))
    }
    const timer = setTimeout(finish, timeoutMs)
    stdout?.setEncoding('utf8')
    stdout?.on('data', (chunk: string) => {
      text += chunk
      if (text.split(mark).length > 2) finish()
    })
    child.once('close', finish)
  })
}

const cache = new Map<string, Promise<Record<string, string>>>()
const SHELL_TIMEOUT_MS = 10_000
/** The state of that shell, not the user's configuration. */
const SHELL_STATE = ['_', 'SHLVL', 'PWD', 'OLDPWD']

function defaultShell(): string {
  return processEnv().SHELL || userInfo().shell || '/bin/sh'
}

function parseMarked(text: string, mark: string): Record<string, string> {
  const [, json] = text.split(mark)
  if (json === undefined) return {}
  try {
    const env: unknown = JSON.parse(json)
    if (typeof env !== 'object' || env === null) return {}
    const entries = Object.entries(env).filter(([name]) => !SHELL_STATE.includes(name))
    return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
  } catch {
    return {}
  }
}
