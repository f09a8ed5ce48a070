import type { Envelope } from '@chirality/core'
import { EXIT, exitCodeOfTurn } from '../../exit-code.ts'
import { type Output, tell } from '../../output.ts'
import { plain, wantsColour } from '../../render/style.ts'
import { TerminalRenderer } from '../../render/terminal-renderer.ts'
import type { RunRequest } from './request.ts'
import type { RunningTurn, StartTurn } from './start-here.ts'
import { Verdict } from './verdict.ts'

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
