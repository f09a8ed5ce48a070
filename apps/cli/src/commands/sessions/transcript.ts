import type { Envelope, UIEvent } from '@chirality/core'
import { readSessionLog, type StoredSession } from '@chirality/sessions'
import { plain, style } from '../../render/style.ts'
import { TerminalRenderer } from '../../render/terminal-renderer.ts'

export interface TranscriptOptions {
  colour: boolean
  /** Where to find the turns that are left out. */
  more: string
  /** The total number of turns, if not all are shown. */
  turns?: number
}

/** The last turns of a conversation, to recognise it: whole messages, one line for each tool. */
export function transcript(
  envelopes: readonly Envelope[],
  { colour, more, turns }: TranscriptOptions,
): string {
  const paint = style(colour)
  const known = envelopes.flatMap(({ event, turnId }) => (event.type === 'turn:start' ? [turnId] : []))
  const shown = Math.min(known.length, SHOWN_TURNS)
  const left = Math.max(turns ?? 0, known.length) - shown
  const hidden = new Set(known.slice(0, known.length - shown))
  const write = conversationWriter(colour)
  let text = left > 0 ? paint.dim(`${left} earlier ${left === 1 ? 'turn' : 'turns'}; ${more}\n`) : ''
  for (const { event, turnId } of envelopes) {
    // The agent is named once, in the first turn.
    if (hidden.has(turnId) && event.type !== 'session:init') continue
    text += write(event)
  }
  return text
}

const SHOWN_TURNS = 10

/** The messages of both sides. `run` does not repeat the user's message, but a later reader needs it. */
export function conversationWriter(colour: boolean): (event: UIEvent) => string {
  const renderer = new TerminalRenderer({ colour })
  const paint = style(colour)
  return event => {
    // The renderer prints nothing for the start of a turn, but its sums begin there.
    const text = renderer.render(event)
    return event.type === 'turn:start' ? `${text}\n${paint.bold(`> ${plain(event.message)}`)}\n` : text
  }
}

/** The last turns of a session, to recognise it, and where to find the others. */
export async function lastTurns(
  { session, logRoot }: { session: StoredSession; logRoot: string },
  colour: boolean,
): Promise<string> {
  const log = await readSessionLog(logRoot, session.id)
  const envelopes = log?.readLast(SHOWN_EVENTS) ?? []
  log?.close()
  const more = `chirality replay ${session.id} --speed max shows them`
  return transcript(envelopes, { colour, more, turns: session.turnCount })
}

/** Enough for the last ten turns, except for very busy ones. */
const SHOWN_EVENTS = 5000
