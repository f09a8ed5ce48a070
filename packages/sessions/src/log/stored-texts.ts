import { createHash } from 'node:crypto'
import { type Envelope, type TextRef, TextsOnce, type UIEvent } from '@chirality/core'
import { isSound, isStoredOnce, type StoredTextRef } from './envelope-line.ts'

/**
 * Decides what is stored of each event of a log. `chat:message` and `chat:complete` repeat the text of `chat:delta`: it
 * is left out if the lines that hold it were written through this object. It has to see every line of the log in order.
 */
export class StoredTexts {
  #texts = new TextsOnce()
  #hashed = { text: '', hash: '' }
  #heldChars = 0

  /** The envelope to write, and the reference in it, if it has one. */
  stored(envelope: Envelope): { envelope: Envelope; ref?: StoredTextRef } {
    const { event } = envelope
    // An imported event can have any fields. One that readers do not accept holds no text.
    if (TEXT_EVENTS.has(event.type) && !isSound(event.type, event)) return { envelope }
    this.#limitMemory(event)
    const once = this.#texts.once(envelope)
    if (once === undefined || !('textOf' in once.event) || !('text' in event)) return { envelope }
    const { text } = event
    const textOf = once.event.textOf as TextRef
    if (text.length < MIN_CHARS || envelope.seq - textOf.from > MAX_LINES) return { envelope }
    const ref = { ...textOf, hash: this.#hash(text) }
    const entries = Object.entries(event).map(([name, value]) =>
      name === 'text' ? ['textOf', ref] : [name, value],
    )
    return { envelope: { ...envelope, event: Object.fromEntries(entries) }, ref }
  }

  /** After this no line that was written before is referred to. */
  forget(): void {
    this.#texts = new TextsOnce()
    this.#heldChars = 0
  }

  /** A turn can go on for hours, and not every text that begins in it is finished. */
  #limitMemory(event: UIEvent): void {
    if (event.type === 'turn:start') this.#heldChars = 0
    else if (event.type === 'chat:delta') this.#heldChars += event.text.length
    if (this.#heldChars > MAX_HELD_CHARS) this.forget()
  }

  /** The end of a turn repeats its last message. */
  #hash(text: string): string {
    if (text !== this.#hashed.text) this.#hashed = { text, hash: hashOf(text) }
    return this.#hashed.hash
  }
}

/** Whether lines may contain a stored reference; a text with these characters has its quotes escaped. */
export function mayHaveRefs(lines: string): boolean {
  return lines.includes('"textOf"')
}

/** Puts one text together from the lines of a log, which can be given in any order. */
export class TextCollector {
  readonly #ref: StoredTextRef
  readonly #pieces = new Map<number, string>()
  #chars = 0
  #proved: { text: string } | undefined

  constructor(ref: StoredTextRef) {
    this.#ref = ref
  }

  add({ seq, event }: Envelope): void {
    const { from, to } = this.#ref
    if (seq < from || seq > to || this.#pieces.has(seq)) return
    const isPiece = event.type === 'chat:delta' || (event.type === 'chat:message' && from === to)
    if (!isPiece || isStoredOnce(event) || refKey(event) !== refKey(this.#ref)) return
    this.#pieces.set(seq, event.text)
    this.#chars += event.text.length
  }

  /** Whether as many characters were found as there have to be. */
  get isComplete(): boolean {
    return this.#chars >= this.#ref.chars
  }

  /** Undefined if what was found is not the text that was left out. */
  get text(): string | undefined {
    if (this.#proved !== undefined) return this.#proved.text
    if (this.#chars !== this.#ref.chars) return undefined
    const pieces = [...this.#pieces].sort(([a], [b]) => a - b)
    const text = pieces.map(([, piece]) => piece).join('')
    if (hashOf(text) !== this.#ref.hash) return undefined
    this.#proved = { text }
    return text
  }
}

/** The envelope with its text; one without a proved text becomes a gap. */
export function withText(envelope: Envelope, text: string | undefined): Envelope {
  const { event, seq, sessionId } = envelope
  if (!isStoredOnce(event)) return envelope
  if (text === undefined) {
    const { from, to } = event.textOf as StoredTextRef
    const reason = `The text of this message is in the events ${from} to ${to}, and some of them are damaged or were changed. What is left of them is shown; the raw log of the agent has the whole text.`
    return { ...envelope, event: { type: 'log:gap', sessionId, afterSeq: seq - 1, missing: 1, reason } }
  }
  const entries = Object.entries(event).map(([name, value]) =>
    name === 'textOf' ? ['text', text] : [name, value],
  )
  return { ...envelope, event: Object.fromEntries(entries) as UIEvent }
}

/**
 * The envelopes of a page with their texts, and how many characters each got. `before` reads the lines from a number up
 * to the page.
 */
export function restoreTexts(
  page: readonly Envelope[],
  before: (from: number) => Iterable<readonly Envelope[]>,
): { envelopes: Envelope[]; restoredChars: Map<number, number> } | undefined {
  if (!page.some(({ event }) => isStoredOnce(event))) return undefined
  const refs = new Map<Envelope, TextCollector>()
  const collectors = new Map<string, Map<string, TextCollector>>()
  let first = page[0]?.seq ?? 0
  for (const envelope of page) {
    if (!isStoredOnce(envelope.event)) continue
    const ref = envelope.event.textOf
    if (ref.to >= envelope.seq || envelope.seq - ref.from > MAX_LINES) continue
    const ofMessage = collectors.get(refKey(ref)) ?? new Map<string, TextCollector>()
    collectors.set(refKey(ref), ofMessage)
    const key = `${ref.from} ${ref.to} ${ref.chars} ${ref.hash}`
    const collector = ofMessage.get(key) ?? new TextCollector(ref)
    ofMessage.set(key, collector)
    refs.set(envelope, collector)
    first = Math.min(first, ref.from)
  }
  const take = (envelopes: readonly Envelope[]) => {
    for (const envelope of envelopes) {
      const { event } = envelope
      if (event.type !== 'chat:delta' && event.type !== 'chat:message') continue
      for (const collector of collectors.get(refKey(event))?.values() ?? []) collector.add(envelope)
    }
  }
  if (first < (page[0]?.seq ?? 0)) for (const envelopes of before(first)) take(envelopes)
  take(page)
  const restoredChars = new Map<number, number>()
  const envelopes = page.map(envelope => {
    if (!isStoredOnce(envelope.event)) return envelope
    const text = refs.get(envelope)?.text
    restoredChars.set(envelope.seq, text?.length ?? 0)
    return withText(envelope, text)
  })
  return { envelopes, restoredChars }
}

const TEXT_EVENTS: ReadonlySet<UIEvent['type']> = new Set<UIEvent['type']>([
  'chat:delta',
  'chat:message',
  'chat:complete',
])

/** A shorter text takes about as much as the reference to it. */
const MIN_CHARS = 200
/** How far a reference reaches back, so that a line can be read without reading the whole log. */
const MAX_LINES = 16_384
const MAX_HELD_CHARS = 8 * 1024 * 1024

/** A pair of halves of a character can be split between two pieces, so the hash is one of UTF-16 units. */
function hashOf(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, HASH_CHARS)
}

const HASH_CHARS = 22

function refKey({ messageId = '', parentToolUseId = '' }: { messageId?: string; parentToolUseId?: string }) {
  return `${parentToolUseId}\n${messageId}`
}
