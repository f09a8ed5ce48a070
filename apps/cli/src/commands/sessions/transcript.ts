import type { Envelope } from '@chirality/core'
import { plain, style } from '../../render/style.ts'
import { TerminalRenderer } from '../../render/terminal-renderer.ts'

/** The last turns of a conversation, to know it again: messages whole, a line for each tool. */
export function transcript(envelopes: readonly Envelope[], { colour }: { colour: boolean }): string {
  const paint = style(colour)
  const turns = envelopes.flatMap(({ event, turnId }) => (event.type === 'turn:start' ? [turnId] : []))
  const left = Math.max(0, turns.length - SHOWN_TURNS)
  const hidden = new Set(turns.slice(0, left))
  const renderer = new TerminalRenderer({ colour })
  let text =
    left > 0 ? paint.dim(`${left} earlier ${left === 1 ? 'turn' : 'turns'}; --json has them all\n`) : ''
  for (const { event, turnId } of envelopes) {
    // Who it was is said once, in the first turn.
    if (hidden.has(turnId) && event.type !== 'session:init') continue
    if (event.type === 'turn:start') text += `\n${paint.bold(`> ${plain(event.message)}`)}\n`
    else text += renderer.render(event)
  }
  return text
}

const SHOWN_TURNS = 10
