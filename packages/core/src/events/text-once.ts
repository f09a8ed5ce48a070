import type { ChatCompleteEvent, ChatMessageEvent, Envelope, TextRef, UIEvent } from './ui-event.ts'

/** A whole text that is sent without its content: `text` is empty, and `textOf` says where it was. */
export type SentOnce = (ChatMessageEvent | ChatCompleteEvent) & { textOf: TextRef }

interface Told {
  ref: Omit<TextRef, 'chars'>
  pieces: string[]
  /** Its `chat:message` has arrived. Further pieces under its id begin another text. */
  isWhole: boolean
}

/**
 * The texts of a turn. `chat:message` and `chat:complete` repeat the text of `chat:delta`: a sender leaves it out there
 * (`once`), and a receiver restores it (`restored`). Each has to see every event, in order.
 */
export class TextsOnce {
  readonly #told = new Map<string, Told>()
  #last: Told | undefined

  /** The envelope without a text that was already sent; undefined if there is none to leave out. */
  once(envelope: Envelope): Envelope | undefined {
    const { event } = envelope
    const told = this.#see(envelope, event)
    if (told === undefined || !isWholeText(event) || event.text === '') return undefined
    const chars = told.pieces.reduce((sum, piece) => sum + piece.length, 0)
    // A message that did not come in pieces is its own text.
    if (chars !== event.text.length || told.ref.from >= envelope.seq) return undefined
    if (told.pieces.join('') !== event.text) return undefined
    const sent: SentOnce = { ...event, text: '', textOf: { ...told.ref, chars } }
    return { ...envelope, event: sent }
  }

  /** The envelope as it is in the log. */
  restored(envelope: Envelope): Envelope {
    const { event } = envelope
    if (!isSentOnce(event)) {
      this.#see(envelope, event)
      return envelope
    }
    const { textOf, ...rest } = event
    const told = this.#last?.ref.from === textOf.from ? this.#last : this.#told.get(keyOf(textOf))
    const whole = { ...envelope, event: { ...rest, text: told?.pieces.join('') ?? '' } as UIEvent }
    this.#see(whole, whole.event)
    return whole
  }

  /** The text that this event belongs to, including this event. */
  #see({ seq }: Envelope, event: UIEvent): Told | undefined {
    switch (event.type) {
      case 'turn:start':
        this.#told.clear()
        this.#last = undefined
        return undefined
      case 'chat:delta':
        if (event.messageId !== undefined) this.#piece(seq, { ...event, messageId: event.messageId })
        return undefined
      case 'chat:message':
        return this.#whole(seq, event)
      case 'chat:complete':
        return this.#last
      default:
        return undefined
    }
  }

  #piece(seq: number, event: { messageId: string; parentToolUseId?: string; text: string }): void {
    const key = keyOf(event)
    const told = this.#told.get(key)
    if (told && !told.isWhole) {
      told.pieces.push(event.text)
      told.ref.to = seq
    } else this.#told.set(key, { ref: refOf(seq, event), pieces: [event.text], isWhole: false })
  }

  #whole(seq: number, event: ChatMessageEvent): Told {
    const key = keyOf(event)
    const known = this.#told.get(key)
    const told =
      known && !known.isWhole && known.pieces.join('') === event.text
        ? known
        : { ref: refOf(seq, event), pieces: [event.text], isWhole: true }
    told.isWhole = true
    // The end of the turn repeats the last message and none before it.
    if (this.#last && this.#last !== told) this.#told.delete(keyOf(this.#last.ref))
    this.#told.set(key, told)
    this.#last = told
    return told
  }
}

function isWholeText(event: UIEvent): event is ChatMessageEvent | ChatCompleteEvent {
  return event.type === 'chat:message' || event.type === 'chat:complete'
}

function isSentOnce(event: UIEvent): event is SentOnce {
  return isWholeText(event) && 'textOf' in event
}

function refOf(
  seq: number,
  { messageId, parentToolUseId }: { messageId: string; parentToolUseId?: string },
): Omit<TextRef, 'chars'> {
  return { messageId, ...(parentToolUseId === undefined ? {} : { parentToolUseId }), from: seq, to: seq }
}

function keyOf({ messageId, parentToolUseId = '' }: { messageId: string; parentToolUseId?: string }): string {
  return `${parentToolUseId}\n${messageId}`
}
