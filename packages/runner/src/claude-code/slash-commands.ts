import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { SlashCommand } from '@chirality/core'
import { HarnessError, NdjsonFramer } from '@chirality/core'
import { buildChildEnv } from '../env/child-env.ts'
import { HARNESS_ID } from './config.ts'
import { type FindClaudeOptions, findClaude } from './executable.ts'

/**
 * What the agent offers after a slash in this folder. Asked by an `initialize` control request, which is answered
 * before any model is called: a prompt, however small, would cost tokens.
 */
export async function discoverClaudeCommands(
  cwd: string,
  options: FindClaudeOptions & { signal?: AbortSignal },
): Promise<SlashCommand[]> {
  const binary = await findClaude(options)
  const { env } = buildChildEnv({ source: options.environment, credentials: 'claude' })
  const child = spawn(binary, ARGS, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    const request = { type: 'control_request', request_id: randomUUID(), request: { subtype: 'initialize' } }
    child.stdin.on('error', () => {})
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const commands = await firstCommands(child.stdout)
    if (commands) return commands
    throw new HarnessError(
      'Claude Code did not list its commands.',
      signal.aborted ? 'timeout' : 'unknown',
      HARNESS_ID,
    )
  } finally {
    signal.removeEventListener('abort', kill)
    child.stdin.end()
    await ended(child, kill)
  }
}

const ARGS = [
  '-p',
  '--input-format',
  'stream-json',
  '--output-format',
  'stream-json',
  '--verbose',
  '--no-session-persistence',
]
const TIMEOUT_MS = 30_000
/** With stdin closed the idle agent exits in about 50 ms; one that does not is not worth waiting for. */
const EXIT_GRACE_MS = 3_000

async function firstCommands(stdout: AsyncIterable<Uint8Array>): Promise<SlashCommand[] | undefined> {
  const framer = new NdjsonFramer()
  for await (const chunk of stdout) {
    for (const record of framer.push(chunk)) {
      const commands = record.kind === 'json' ? commandsOf(record.value) : undefined
      if (commands) return commands
    }
  }
  return undefined
}

function commandsOf(value: unknown): SlashCommand[] | undefined {
  const event = value as { type?: unknown; response?: { response?: { commands?: unknown } } }
  if (event?.type !== 'control_response' || !Array.isArray(event.response?.response?.commands))
    return undefined
  return event.response.response.commands.flatMap(command => {
    if (typeof command?.name !== 'string') return []
    const description = typeof command.description === 'string' ? { description: command.description } : {}
    return [{ name: command.name, type: 'slash_command' as const, ...description }]
  })
}

async function ended(child: ReturnType<typeof spawn>, kill: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const timer = setTimeout(kill, EXIT_GRACE_MS)
  await new Promise(resolve => child.once('close', resolve))
  clearTimeout(timer)
}
