import type { CageTry } from '@chirality/cage'
import type {
  HarnessQuery,
  HarnessTurnOpts,
  SessionErrorEvent,
  StatusEvent,
  TurnStartEvent,
} from '@chirality/core'
import type { ProcessExit } from '../process/agent-process.ts'
import type { FileDamage } from '../process/output/tail.ts'
import type { AgentName, Invocation } from './turn-program.ts'

// The events that the runner itself emits for a turn. The agent's events come from the translator.

export type StopReason = 'interrupted' | 'killed' | 'timeout'

export interface AgentEnd {
  exit: { code: number | null; signal: string | null }
  /** How many of its processes are still running, if that is known. */
  leftRunning?: number | undefined
}

/** Told that an agent exited by itself while no turn of the session ran; `how` is a description for the user. */
export type ExitListener = (end: AgentEnd, how: string) => void

export function turnStart(
  sessionId: string,
  { promptText: message, attachments }: Pick<Invocation, 'promptText' | 'attachments'>,
): TurnStartEvent {
  return { type: 'turn:start', sessionId, message, ...(attachments > 0 ? { attachments } : {}) }
}

/** The agent has taken up a message in the middle of its turn, and does not repeat it itself. */
export function tookMessage(sessionId: string, prompt: HarnessQuery['prompt']): StatusEvent {
  const text =
    typeof prompt === 'string'
      ? prompt
      : prompt.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  const [line = ''] = text.trim().split('\n')
  const message = line.length > MAX_HEADLINE ? `${line.slice(0, MAX_HEADLINE)}…` : line
  const data = { kind: 'user_message', text }
  return { type: 'status', sessionId, status: 'notice', level: 'info', message, data }
}

const MAX_HEADLINE = 200

export function resumeFailed(sessionId: string, nativeSessionId: string | undefined): StatusEvent {
  const message = 'The agent no longer has the earlier conversation; this turn starts a new one.'
  const data = { nativeSessionId: nativeSessionId ?? null }
  return { type: 'status', sessionId, status: 'resume_failed', level: 'warn', message, data }
}

/** Emitted for an agent that writes this only to stderr. */
export function lostSession(sessionId: string, nativeSessionId: string, name: string): SessionErrorEvent {
  const error = `${name} has no conversation ${nativeSessionId}.`
  return { type: 'session:error', sessionId, error, code: 'session_not_found', recovered: true }
}

/** The kept agent exited by itself; `how` is the description that its pool gives. */
export function restarted(sessionId: string, how: string): StatusEvent {
  const message = `${how}. The conversation goes on in a new process.`
  return { type: 'status', sessionId, status: 'notice', level: 'warn', message, data: { kind: 'restarted' } }
}

/** What tells a session that its kept agent exited by itself while no turn ran. */
export function exitListener(
  sessionId: string,
  agent: AgentName,
  onBetweenTurns: HarnessTurnOpts['onBetweenTurns'],
): ExitListener | undefined {
  return (
    onBetweenTurns &&
    (({ exit: { code, signal }, leftRunning }, how) => {
      const message = `${agent.name} ${how} while no turn ran. The next message starts it again.`
      const data = { kind: 'exited' }
      const left = leftRunning === undefined ? {} : { leftRunning }
      onBetweenTurns([
        { type: 'status', sessionId, status: 'notice', level: 'warn', message, data },
        { type: 'process:exit', sessionId, code, signal, ...left },
      ])
    })
  )
}

/** The silence after which a stall is reported: longer than a slow model needs, short enough to be useful. */
export const STALL_MS = 120_000

export function spoolDamaged(sessionId: string, path: string, damage: FileDamage): StatusEvent {
  const message = `The raw log ${path} was ${damage} while in use. The turn goes on.`
  return { type: 'status', sessionId, status: 'notice', level: 'error', message }
}

/** `count` is the number of processes that the agent started and did not end. */
export function leftBehind(sessionId: string, count: number): StatusEvent {
  const what = count === 1 ? 'a process' : `${count} processes`
  const message = `Stopped ${what} that the agent left behind.`
  return { type: 'status', sessionId, status: 'cleanup', level: 'warn', message, data: { count } }
}

export function lingered(sessionId: string): StatusEvent {
  const message = 'The agent had answered but did not exit, so it was ended.'
  return { type: 'status', sessionId, status: 'cleanup', level: 'warn', message }
}

export function stopped(sessionId: string, reason: StopReason): SessionErrorEvent {
  return reason === 'timeout'
    ? { type: 'session:error', sessionId, error: 'The turn took longer than allowed.', code: 'timeout' }
    : { type: 'session:error', sessionId, error: 'The turn was stopped.', code: 'interrupted' }
}

/** `said` is the text that `describeExit` returns. */
export function noResult(sessionId: string, said: string): SessionErrorEvent {
  return { type: 'session:error', sessionId, error: said, code: 'process_crashed' }
}

export function failed(sessionId: string, error: unknown): SessionErrorEvent {
  const message = error instanceof Error ? error.message : String(error)
  return { type: 'session:error', sessionId, error: message, code: 'process_crashed' }
}

export function describeExit(
  name: string,
  { code, signal, fault }: Pick<ProcessExit, 'code' | 'signal'> & { fault?: string | null },
  stderr: string,
): string {
  const exited = code === null ? 'ended' : `exited with code ${code}`
  const how = signal ? `was ended by ${signal}` : exited
  const said = stderr.trim()
  return `${name} ${how} without a result.${fault ? ` ${fault}` : ''}${said ? ` It said: ${said}` : ''}`
}

/** The result of the probe. Nothing for an agent without a cage. */
export function cagedStatus(sessionId: string, tries: readonly CageTry[] | undefined): StatusEvent[] {
  if (tries === undefined) return []
  const held = tries.filter(attempt => attempt.held).length
  const message = `Caged: ${held} of ${tries.length} held`
  return [{ type: 'status', sessionId, status: 'caged', level: 'info', message, data: { tries } }]
}
