import { SessionStore, type StoredSession } from '@chirality/sessions'
import { EXIT, UsageError } from '../../exit-code.ts'
import { oneArgument, readOptions, wholeNumber } from '../../options.ts'
import type { Output } from '../../output.ts'
import { continueCommand, findSession } from './find-session.ts'

/** A new session with the same history, up to an event. */
export async function forkCommand(args: string[], output: Output): Promise<number> {
  const { values, positionals } = readOptions(args, {
    at: { type: 'string' },
    title: { type: 'string' },
    json: { type: 'boolean' },
  })
  const store = new SessionStore()
  const session = await findSession(oneArgument(positionals, 'the id of a session'), store)
  const atSeq = wholeNumber('at', values.at, { min: 1, max: Number.MAX_SAFE_INTEGER })
  if (atSeq !== undefined && atSeq > session.lastSeq)
    throw new UsageError(`--at is ${atSeq}, but the session has ${session.lastSeq} events.`)
  const { title } = values
  const fork = await store.fork(session.id, { atSeq, title })
  if (values.json) await output.write(`${JSON.stringify(fork)}\n`)
  else await output.write(`${fork.id}\n${whatItKnows(fork)}Continue with: ${continueCommand(fork)}\n`)
  return EXIT.done
}

function whatItKnows({ forkedFrom }: StoredSession): string {
  if (forkedFrom?.history === 'cut')
    return 'Its agent goes on from its own conversation up to here, and knows nothing later.\n'
  if (forkedFrom?.history !== 'account') return ''
  return 'Its agent begins a new conversation, with a written account of the history up to here and nothing later.\n'
}
