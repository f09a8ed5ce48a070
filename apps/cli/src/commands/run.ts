import { randomUUID } from 'node:crypto'
import type { UIEvent } from '@chirality/core'
import { exitCodeOfTurn } from '../exit-code.ts'
import { createHarnesses } from '../harnesses.ts'
import { type Output, tell } from '../output.ts'
import { wantsColour } from '../render/style.ts'
import { TerminalRenderer } from '../render/terminal-renderer.ts'
import { envelopeWriter } from './run/envelope-writer.ts'
import { readRequest } from './run/request.ts'
import { stopOnSignals } from './run/stop-on-signals.ts'
import { Verdict } from './run/verdict.ts'

/** One turn of an agent, shown while it happens. */
export async function run(args: string[], output: Output): Promise<number> {
  const harnesses = createHarnesses()
  const { harness, session, prompt, options, timeoutMs, json } = await readRequest(args, harnesses)
  const turnId = randomUUID()
  const show = json ? envelopeWriter(session.id, turnId) : terminalWriter(output)
  const verdict = new Verdict(session.projectRoot, harness.id)
  const releaseSignals = stopOnSignals({
    interrupt: () => harness.interrupt(session.id),
    kill: () => {
      harness.kill(session.id)
      output.hurry()
    },
  })
  const releaseOutput = output.onLost(() => harness.kill(session.id))
  try {
    const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
    for await (const event of harness.startTurn(session, prompt, { ...options, turnId, signal })) {
      verdict.see(event)
      await output.write(show(event))
    }
  } finally {
    // There is no next turn that anything could be kept for.
    await harness.close()
    releaseSignals()
    releaseOutput()
  }
  const advice = verdict.advice()
  if (advice !== '') await tell(advice)
  return exitCodeOfTurn(verdict.reason, verdict.error)
}

function terminalWriter(output: Output): (event: UIEvent) => string {
  const renderer = new TerminalRenderer({ colour: wantsColour(output.isTerminal) })
  return event => renderer.render(event)
}
