import { readSessionLog, type StoredSession } from '@chirality/sessions'
import { transcript } from './transcript.ts'

/** The last turns of a session, to know it again, and where the others are. */
export async function lastTurns(session: StoredSession, colour: boolean): Promise<string> {
  const log = await readSessionLog(session.projectRoot, session.id)
  const envelopes = log?.readLast(SHOWN_EVENTS) ?? []
  log?.close()
  const more = `chirality replay ${session.id} --speed max shows them`
  return transcript(envelopes, { colour, more, turns: session.turnCount })
}

/** Enough for the last ten turns, but for very busy ones. */
const SHOWN_EVENTS = 5000
