import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type {
  Envelope,
  PermissionMode,
  Session,
  SessionErrorCode,
  SessionMode,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { SESSION_MODES } from '@chirality/core'
import { ClaudeCodeHarness, processEnv } from '@chirality/runner'
import { exitCodeOfTurn } from '../exit-code.ts'
import { integer, oneOf, readOptions } from '../options.ts'
import { TerminalRenderer } from '../render/terminal-renderer.ts'
import { UsageError } from '../usage-error.ts'

const OPTIONS = {
  project: { type: 'string' },
  harness: { type: 'string' },
  model: { type: 'string' },
  session: { type: 'string' },
  mode: { type: 'string' },
  'permission-mode': { type: 'string' },
  tools: { type: 'string' },
  allow: { type: 'string' },
  'max-turns': { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
} as const

const HARNESSES = ['claude-code'] as const
const PERMISSION_MODES: PermissionMode[] = ['default', 'acceptEdits', 'dontAsk', 'plan', 'bypassPermissions']

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = readOptions(args, OPTIONS)
  oneOf('harness', values.harness, HARNESSES)
  const permissionMode = oneOf('permission-mode', values['permission-mode'], PERMISSION_MODES)
  const maxTurns = integer('max-turns', values['max-turns'])
  const timeoutS = integer('timeout', values.timeout)
  const projectRoot = await projectFolder(values.project)
  const session = sessionFor(
    projectRoot,
    values.session,
    oneOf('mode', values.mode, SESSION_MODES) ?? 'direct',
  )
  const prompt = await promptFrom(positionals)

  const harness = new ClaudeCodeHarness()
  const turnId = randomUUID()
  const show = values.json ? jsonWriter(session.id, turnId) : terminalWriter()
  const release = stopOnSignals(harness, session.id)
  let reason: TurnEndReason = 'crashed'
  let error: SessionErrorCode | null = null
  try {
    const events = harness.startTurn(session, prompt, {
      turnId,
      newSessionId: session.id,
      model: values.model,
      permissionMode,
      tools: values.tools,
      autoApproveTools: splitList(values.allow),
      maxTurns,
      signal: timeoutS === undefined ? undefined : AbortSignal.timeout(timeoutS * 1000),
    })
    for await (const event of events) {
      if (event.type === 'turn:end') reason = event.reason
      if (event.type === 'session:error' && !event.recovered) error = event.code
      await show(event)
    }
  } finally {
    release()
  }
  return exitCodeOfTurn(reason, error)
}

async function projectFolder(option: string | undefined): Promise<string> {
  const folder = path.resolve(option ?? '.')
  const info = await stat(folder).catch(() => null)
  if (info?.isDirectory()) return folder
  throw new UsageError(`The project folder ${folder} ${info ? 'is not a folder' : 'does not exist'}.`)
}

/** Our id is also the one the agent is asked to use, so that --session finds the conversation again. */
function sessionFor(projectRoot: string, id: string | undefined, mode: SessionMode): Session {
  if (id !== undefined && !UUID.test(id)) {
    throw new UsageError(`--session must be the id of a session (a UUID), not "${id}".`)
  }
  const now = new Date().toISOString()
  return {
    id: id ?? randomUUID(),
    createdAt: now,
    updatedAt: now,
    projectRoot,
    persona: null,
    mode,
    claudeSessionId: id ?? null,
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

async function promptFrom(positionals: string[]): Promise<string> {
  if (positionals.length > 1) {
    throw new UsageError(
      `One prompt is expected, ${positionals.length} were given. Quote it if it has spaces.`,
    )
  }
  const [given] = positionals
  if (given === undefined && process.stdin.isTTY) {
    throw new UsageError('No prompt. Give one in quotes, or "-" to read it from stdin.')
  }
  const prompt = given === undefined || given === '-' ? await text(process.stdin) : given
  if (prompt.trim() === '') throw new UsageError('The prompt is empty. Say what the agent should do.')
  return prompt
}

function splitList(list: string | undefined): string[] | undefined {
  // Commas inside parentheses belong to a pattern: Bash(git log, git diff).
  return list?.split(/,(?![^(]*\))/).flatMap(name => name.trim() || [])
}

function terminalWriter(): (event: UIEvent) => Promise<void> {
  const renderer = new TerminalRenderer({ colour: process.stdout.isTTY === true && !processEnv().NO_COLOR })
  return event => write(renderer.render(event))
}

function jsonWriter(sessionId: string, turnId: string): (event: UIEvent) => Promise<void> {
  let seq = 0
  return event => {
    seq += 1
    const envelope: Envelope = { seq, at: new Date().toISOString(), sessionId, turnId, event }
    return write(`${JSON.stringify(envelope)}\n`)
  }
}

/** Waits for a slow reader instead of filling memory; the spool holds what is not shown yet. */
function write(output: string): Promise<void> {
  if (output === '' || process.stdout.write(output) || process.stdout.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    const done = () => {
      process.stdout.off('drain', done).off('close', done).off('error', done)
      resolve()
    }
    process.stdout.once('drain', done).once('close', done).once('error', done)
  })
}

/** The first Ctrl-C asks the agent to stop, the second ends it. The agent has a process group of its own. */
function stopOnSignals(harness: ClaudeCodeHarness, sessionId: string): () => void {
  let asked = false
  const onInterrupt = () => {
    if (asked) harness.kill(sessionId)
    else harness.interrupt(sessionId)
    asked = true
  }
  const onTerminate = () => harness.kill(sessionId)
  const onBrokenPipe = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') harness.kill(sessionId)
  }
  process.on('SIGINT', onInterrupt)
  process.on('SIGTERM', onTerminate)
  process.on('SIGHUP', onTerminate)
  process.stdout.on('error', onBrokenPipe)
  return () => {
    process.off('SIGINT', onInterrupt)
    process.off('SIGTERM', onTerminate)
    process.off('SIGHUP', onTerminate)
    process.stdout.off('error', onBrokenPipe)
  }
}
