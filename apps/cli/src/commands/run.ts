import type { Envelope } from '@chirality/core'
import { DecisionBroker, type LiveSession, SessionHost } from '@chirality/sessions'
import { EXIT, exitCodeOfTurn } from '../exit-code.ts'
import { createHarnesses } from '../harnesses.ts'
import { type Output, tell } from '../output.ts'
import { wantsColour } from '../render/style.ts'
import { TerminalRenderer } from '../render/terminal-renderer.ts'
import { HeadlessJudge } from './run/headless-judge.ts'
import { openSession } from './run/open-session.ts'
import { type RunRequest, readRequest } from './run/request.ts'
import { stopOnSignals } from './run/stop-on-signals.ts'
import { Verdict } from './run/verdict.ts'

/** One turn of a session, shown while it happens, out of the log that keeps it. */
export async function run(args: string[], output: Output): Promise<number> {
  let host: SessionHost | undefined
  const harnesses = createHarnesses(entry => host?.log(entry))
  const request = await readRequest(args, harnesses)
  const decisions = new DecisionBroker({ policies: new HeadlessJudge() })
  host = new SessionHost({ harnesses, address: 'chirality run', decisions })
  // Turns that another host has left at work are found again here, and go on when we leave.
  let agents: 'stop' | 'leave' = 'stop'
  try {
    const { adopted } = await host.openProject(request.session.projectRoot)
    if (adopted.length > 0) agents = 'leave'
    return await runTurn(host, request, output)
  } finally {
    await host.close({ agents })
  }
}

async function runTurn(host: SessionHost, request: RunRequest, output: Output): Promise<number> {
  const { harness, session, prompt, turn, json } = request
  const verdict = new Verdict(session.projectRoot, harness.id)
  const show = json ? (envelope: Envelope) => `${JSON.stringify(envelope)}\n` : terminalWriter(output)
  let live: LiveSession | undefined
  let isStopped = false
  const kill = () => {
    isStopped = true
    void live?.kill()
  }
  const releaseSignals = stopOnSignals({
    interrupt: () => {
      isStopped = true
      live?.interrupt()
    },
    kill: () => {
      kill()
      output.hurry()
    },
  })
  const releaseOutput = output.onLost(kill)
  try {
    const opened = await openSession(host, session)
    live = opened.live
    if (isStopped) {
      await opened.discard()
      return EXIT.interrupted
    }
    const from = live.log.lastSeq
    try {
      await live.start(prompt, { ...turn, newSessionId: opened.newSessionId })
    } catch (error) {
      await opened.discard()
      throw error
    }
    for await (const envelope of untilSettled(live, from)) {
      verdict.see(envelope.event)
      await output.write(show(envelope))
    }
  } finally {
    releaseSignals()
    releaseOutput()
  }
  const advice = verdict.advice()
  if (advice !== '') await tell(advice)
  return exitCodeOfTurn(verdict.reason, verdict.error)
}

/** What comes into the log after `seq`, to the last word of the turn. */
async function* untilSettled(live: LiveSession, seq: number): AsyncGenerator<Envelope> {
  const { log } = live
  const batches = log.subscribe(seq)
  let cursor = seq
  void live.settled().then(() => batches.return?.())
  for await (const batch of batches) {
    for (const envelope of batch) yield envelope
    cursor = batch.at(-1)?.seq ?? cursor
  }
  // A slow reader of ours may be behind when the turn is over.
  for (
    let rest = log.readAfter(cursor, REST_EVENTS);
    rest.length > 0;
    rest = log.readAfter(cursor, REST_EVENTS)
  ) {
    for (const envelope of rest) yield envelope
    cursor = rest.at(-1)?.seq ?? cursor
  }
}

const REST_EVENTS = 500

function terminalWriter(output: Output): (envelope: Envelope) => string {
  const renderer = new TerminalRenderer({ colour: wantsColour(output.isTerminal) })
  return ({ event }) => renderer.render(event)
}
