import path from 'node:path'
import {
  type Envelope,
  loginWords,
  newSummary,
  type SessionErrorCode,
  summarize,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { HARNESSES, harnessMeta } from '@chirality/runner'
import { EXIT, exitCodeOfTurn } from '../../exit-code.ts'
import { type Output, tell } from '../../output.ts'
import { plain, wantsColour } from '../../render/style.ts'
import { TerminalRenderer } from '../../render/terminal-renderer.ts'
import type { RunRequest } from './request.ts'
import type { RunningTurn, StartTurn } from './start-here.ts'

/** Starts a turn, shows it until its end, handles the user's signals meanwhile, and returns the exit code. */
export async function showTurn(start: StartTurn, request: RunRequest, output: Output): Promise<number> {
  const { harness, session, json, failOnDenial } = request
  const verdict = new Verdict(session.projectRoot, harness.id)
  const show = json ? (envelope: Envelope) => `${JSON.stringify(envelope)}\n` : terminalWriter(output)
  let turn: RunningTurn | undefined
  let isStopped = false
  const kill = () => {
    isStopped = true
    turn?.kill()
  }
  const releaseSignals = stopOnSignals({
    interrupt: () => {
      isStopped = true
      turn?.interrupt()
    },
    kill: () => {
      kill()
      output.hurry()
    },
  })
  const releaseOutput = output.onLost(kill)
  try {
    turn = await start(() => isStopped)
    if (turn === undefined) return EXIT.interrupted
    // A signal arrived while the turn was starting.
    if (isStopped) turn.interrupt()
    for await (const envelope of turn.envelopes) {
      verdict.see(envelope.event)
      await output.write(show(envelope))
      if (failOnDenial && verdict.denial !== null && !isStopped) {
        isStopped = true
        turn.interrupt()
      }
    }
  } finally {
    releaseSignals()
    releaseOutput()
  }
  if (failOnDenial && verdict.denial !== null) {
    await tell(`chirality: Stopped, because something was denied: ${plain(verdict.denial)}\n`)
    return EXIT.failed
  }
  const advice = verdict.advice()
  if (advice !== '') await tell(advice)
  return exitCodeOfTurn(verdict.reason, verdict.error)
}

function terminalWriter(output: Output): (envelope: Envelope) => string {
  const renderer = new TerminalRenderer({ colour: wantsColour(output.isTerminal) })
  return ({ event }) => renderer.render(event)
}

interface Stoppable {
  /** Interrupts the turn. */
  interrupt(): void
  /** Kills the turn. */
  kill(): void
}

/**
 * The first Ctrl-C interrupts, the second kills, and so does closing the terminal. The agent has a process group of its
 * own, so it receives only the signals that are passed on here.
 */
function stopOnSignals(turn: Stoppable): () => void {
  let interrupted = false
  const onInterrupt = () => {
    if (interrupted) turn.kill()
    else turn.interrupt()
    interrupted = true
  }
  const onTerminate = () => turn.kill()
  process.on('SIGINT', onInterrupt)
  process.on('SIGTERM', onTerminate)
  process.on('SIGHUP', onTerminate)
  return () => {
    process.off('SIGINT', onInterrupt)
    process.off('SIGTERM', onTerminate)
    process.off('SIGHUP', onTerminate)
  }
}

/** How a turn ended, and what the user can do. */
export class Verdict {
  /** The first denied call, as text. */
  denial: string | null = null
  readonly #logs: string
  readonly #harness: string
  readonly #summary = newSummary('')

  constructor(projectRoot: string, harness: string) {
    this.#harness = harness
    this.#logs = path.join(projectRoot, '.chirality', 'logs')
  }

  see(event: UIEvent): void {
    summarize(this.#summary, { event, at: '', turnId: null })
    this.denial ??= denialIn(event)
  }

  /** A turn without an end event crashed. */
  get reason(): TurnEndReason {
    return this.#summary.turn?.reason ?? 'crashed'
  }

  get error(): SessionErrorCode | null {
    return this.#summary.error?.code ?? null
  }

  /** A line for stderr, empty if the turn succeeded. */
  advice(): string {
    const text = this.#text()
    return text === '' ? '' : `chirality: ${text}\n`
  }

  #text(): string {
    if (this.reason === 'completed') return ''
    const stop = STOPS[this.reason]
    if (stop) return `${stop} ${this.#goOn()}`.trim()
    return `${this.#failure()} The raw log is in ${this.#logs}.`
  }

  #failure(): string {
    if (this.error === 'auth_failed') {
      const credential = this.#summary.error?.credential
      if (credential) return `The key in ${credential} was refused. Correct it, or unset it and log in.`
      return `Not logged in. ${loginWords(harnessMeta(this.#harness) ?? HARNESSES[0].meta)}; \`chirality doctor\` shows what is there.`
    }
    return FAILURES[this.error ?? 'unknown'] ?? 'The turn failed.'
  }

  /** Only a conversation that the agent has begun can be continued. */
  #goOn(): string {
    const { nativeSessionId } = this.#summary.agent
    return nativeSessionId ? `Continue with --session ${nativeSessionId}.` : ''
  }
}

function denialIn(event: UIEvent): string | null {
  if (event.type === 'permission:resolved' && event.outcome === 'denied')
    return event.message ?? 'Not allowed.'
  return event.type === 'status' && event.status === 'permission_denied' ? event.message : null
}

const STOPS: Readonly<Partial<Record<TurnEndReason, string>>> = {
  interrupted: 'Interrupted.',
  killed: 'The agent was stopped.',
  timeout: 'Stopped by the timeout. Raise --timeout.',
  max_turns: 'The turn limit is reached. Raise --max-turns.',
  budget: 'The budget is used up. Raise it with "chirality budget set".',
}

const FAILURES: Readonly<Partial<Record<SessionErrorCode, string>>> = {
  billing: 'The account cannot pay for this turn.',
  context_overflow: 'Too long for the model. Shorten the prompt or start a new session.',
  model_not_found: 'The model is not available. Check --model.',
  overloaded: 'The model is overloaded. Try again later.',
  rate_limited: 'A rate limit is reached. Try again later.',
}
