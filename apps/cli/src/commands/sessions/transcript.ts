import type { Envelope } from '@chirality/core'
import { style } from '../../render/style.ts'
import { conversationWriter } from './conversation-writer.ts'

export interface TranscriptOptions {
  colour: boolean
  /** Where the turns are that are left out. */
  more: string
  /** How many turns there are in all, if these are not all of them. */
  turns?: number
}

/** The last turns of a conversation, to know it again: messages whole, a line for each tool. */
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
    // Who it was is said once, in the first turn.
    if (hidden.has(turnId) && event.type !== 'session:init') continue
    text += write(event)
  }
  return text
}

const SHOWN_TURNS = 10
