import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
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

export function readShellEnvironment(shell: string, timeoutMs: number): Promise<Record<string, string>> {
  if (!isAbsolute(shell)) return Promise.resolve({})
  // Start-up files can print text, so the output is enclosed in unique marks.
  const mark = randomUUID()
  const script = `process.stdout.write("${mark}"+JSON.stringify(process.env)+"${mark}")`
  const command = `'${process.execPath.replaceAll("'", "'\\''")}' -e '${script}'`
  return new Promise(resolve => {
    // A new session: an interactive shell that cannot get the terminal would stop itself.
    const child = spawn(shell, ['-lic', command], {
      env: processEnv(),
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    let text = ''
    const finish = () => {
      clearTimeout(timer)
      // A daemon from a start-up file may hold the pipe open forever.
      child.stdout.destroy()
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        sendSignal(-child.pid, 'SIGKILL')
      resolve(parseMarked(text, mark))
    }
    const timer = setTimeout(finish, timeoutMs)
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (chunk: string) => {
      text += chunk
      if (text.split(mark).length > 2) finish()
    })
    child.once('error', finish)
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
