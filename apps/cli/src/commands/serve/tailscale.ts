import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { buildChildEnv, processEnv, runHelper, startProgram } from '@chirality/runner'

/** Why the server cannot be reached through Tailscale, with what to do about it. */
export class TailscaleError extends Error {}

/** The address of this machine in its tailnet: `https://machine.tailnet.ts.net`. */
export async function tailnetOrigin(): Promise<string> {
  const { BackendState: state, Self, CertDomains } = await status()
  const name = Self?.DNSName?.replace(/\.$/, '') ?? ''
  if (state !== 'Running') throw new TailscaleError(STATES[state ?? ''] ?? notRunning(state))
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(name))
    throw new TailscaleError(
      'This machine has no name in its tailnet. Turn MagicDNS on in the admin console.',
    )
  if (!CertDomains?.includes(name))
    throw new TailscaleError(
      `Your tailnet gives ${name} no certificate. Turn HTTPS on in the admin console, under DNS, and start again.`,
    )
  return `https://${name.toLowerCase()}`
}

interface Status {
  BackendState?: string
  Self?: { DNSName?: string } | null
  CertDomains?: string[] | null
}

const STATES: Readonly<Record<string, string>> = {
  NeedsLogin: 'Tailscale is logged out on this machine. Run `tailscale up`, then start again.',
  NeedsMachineAuth: 'This machine waits for approval in the admin console of your tailnet.',
  Stopped: 'Tailscale is stopped on this machine. Run `tailscale up`, then start again.',
}

function notRunning(state: string | undefined): string {
  return `Tailscale is not running (${state ?? 'no state'}). See \`tailscale status\`, then start again.`
}

async function status(): Promise<Status> {
  const { code, stdout, stderr } = await run(['status', '--json'])
  // A machine that is logged out exits with 1 and still says so.
  const parsed = parse(stdout)
  if (parsed !== undefined) return parsed
  throw new TailscaleError(`\`tailscale status\` failed (${lastLine(stderr) || `exit code ${code}`}).`)
}

function parse(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

export interface TailnetDoor {
  /** Resolves with a reason when `tailscale serve` ends by itself. */
  readonly ended: Promise<string>
  close(): Promise<void>
}

/**
 * Forwards HTTPS of the tailnet to a port of loopback with `tailscale serve`, which has the certificate. In the
 * foreground: Tailscale forgets it when the process ends. `onLine` gets what it says, as the address that allows it.
 */
export async function openTailnet(
  port: number,
  { origin, onLine }: { origin: string; onLine: (line: string) => void },
): Promise<TailnetDoor> {
  const program = await startProgram(tailscale(), ['serve', '--https=443', `http://127.0.0.1:${port}`], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  }).catch((error: Error) => {
    throw new TailscaleError(`\`tailscale serve\` failed (${error.message})`)
  })
  const { child, stdout, stderr } = program
  let said = ''
  const ended = new Promise<string>(resolve => {
    child.once('close', code => resolve(lastLine(said) || `exit code ${code}`))
  })
  const ready = new Promise<'ready'>(resolve => {
    const hear = (chunk: string) => {
      said = (said + chunk).slice(-MAX_SAID)
      if (said.includes(origin)) resolve('ready')
      else for (const line of chunk.split('\n')) if (line.trim() !== '') onLine(line.trim())
    }
    stdout?.setEncoding('utf8').on('data', hear)
    stderr?.setEncoding('utf8').on('data', hear)
  })
  const first = await Promise.race([ready, ended])
  if (first === 'ready') return { ended, close: () => stop(child, ended) }
  throw new TailscaleError(
    `\`tailscale serve\` failed (${first}). \`tailscale serve status\` shows what else uses port 443.`,
  )
}

const MAX_SAID = 16 * 1024
const STOP_MS = 5_000

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGINT')
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(force)
}

async function run(args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const options = { env: childEnvironment(), timeoutMs: RUN_MS, maxChars: 64 * 1024 * 1024 }
  const end = await runHelper(tailscale(), args, options)
  if (end.error?.code === 'command-missing') throw new TailscaleError(MISSING)
  return end
}

const RUN_MS = 30_000
const MISSING =
  'Tailscale is not installed here, or its `tailscale` command is not in PATH. https://tailscale.com/download has it.'

/** The app of macOS brings the command, and puts it into no folder of PATH. */
function tailscale(): string {
  const app = '/Applications/Tailscale.app/Contents/MacOS/Tailscale'
  return process.platform === 'darwin' && existsSync(app) ? app : 'tailscale'
}

function childEnvironment(): Record<string, string> {
  return { ...buildChildEnv({ source: processEnv() }).env }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? ''
}
