import type { UIEvent } from '@chirality/core'
import { plain } from '../../render/plain.ts'
import { style } from '../../render/style.ts'
import { TerminalRenderer } from '../../render/terminal-renderer.ts'

/** What was said by both sides. `run` does not repeat the user's message; who reads later has not written it just now. */
export function conversationWriter(colour: boolean): (event: UIEvent) => string {
  const renderer = new TerminalRenderer({ colour })
  const paint = style(colour)
  return event =>
    event.type === 'turn:start' ? `\n${paint.bold(`> ${plain(event.message)}`)}\n` : renderer.render(event)
}
