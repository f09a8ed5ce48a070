import { setTimeout as sleep } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import { readSessionLog, type SessionLogReader } from '@chirality/sessions'
import { EXIT, UsageError } from '../exit-code.ts'
import { oneArgument, readOptions } from '../options.ts'
import type { Output } from '../output.ts'
import { wantsColour } from '../render/style.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { findAnywhere } from './sessions/find-anywhere.ts'
import { conversationWriter } from './sessions/transcript.ts'

/** Shows a session again as it happened, with shortened pauses. */
export async function replay(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    speed: { type: 'string' },
    json: { type: 'boolean' },
  })
  const speed = readSpeed(values.speed)
  const { session, logRoot } = await findAnywhere(oneArgument(positionals, 'the id of a session'))
  const log = await readSessionLog(logRoot, session.id)
  if (log === undefined) return EXIT.done
  const write = conversationWriter(wantsColour(output.isTerminal))
  const show = (envelope: Envelope) => (values.json ? `${JSON.stringify(envelope)}\n` : write(envelope.event))
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  for (const name of STOP_SIGNALS) process.once(name, onSignal)
  const releaseOutput = output.onLost(onSignal)
  try {
    let before: number | undefined
    for (const envelope of envelopesOf(log)) {
      const time = Date.parse(envelope.at)
      await pause(before === undefined ? 0 : Math.min(time - before, MAX_GAP_MS) / speed, stop.signal)
      before = Number.isNaN(time) ? before : time
      if (stop.signal.aborted || !(await output.write(show(envelope)))) break
    }
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal)
    releaseOutput()
    log.close()
  }
  // A closed pipe, as with `| head`, is no failure.
  return stop.signal.aborted && !output.lost ? EXIT.interrupted : EXIT.done
}

/** Long enough to be noticed as a pause, too short to be annoying. */
const MAX_GAP_MS = 2000
const BATCH_EVENTS = 500
const MAX_SPEED = 10_000

/** Divides all times; at infinity there are no pauses. */
function readSpeed(given: string | undefined): number {
  if (given === 'max' || given === '0') return Number.POSITIVE_INFINITY
  const speed = given === undefined ? 1 : Number(given)
  if (/^\d*\.?\d+$/.test(given ?? '1') && speed > 0 && speed <= MAX_SPEED) return speed
  throw new UsageError(`--speed must be a number above 0 and up to ${MAX_SPEED}, or "max", not "${given}".`)
}

function* envelopesOf(log: SessionLogReader): Generator<Envelope> {
  for (let seq = 0; seq < log.lastSeq; ) {
    const batch = log.readAfter(seq, BATCH_EVENTS)
    yield* batch
    seq = batch.at(-1)?.seq ?? log.lastSeq
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms >= 1) await sleep(ms, undefined, { signal }).catch(() => {})
}
