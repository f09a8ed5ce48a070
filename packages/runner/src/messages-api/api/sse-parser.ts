/** Parses server-sent events from a byte stream. Passes on the `data` of an event as soon as its blank line arrives. */
export class SseParser {
  readonly #onData: (data: string) => void
  readonly #decoder = new TextDecoder()
  readonly #maxChars: number
  #rest = ''
  #data: string | null = null
  #heldChars = 0

  constructor(onData: (data: string) => void, maxEventChars = MAX_EVENT_CHARS) {
    this.#onData = onData
    this.#maxChars = maxEventChars
  }

  push(chunk: Uint8Array): void {
    this.#read(this.#decoder.decode(chunk, STREAM))
  }

  /** An event without its final blank line is incomplete and is dropped. */
  end(): void {
    this.#read(this.#decoder.decode())
    this.#rest = ''
    this.#data = null
  }

  #read(text: string): void {
    const all = this.#rest === '' ? text : this.#rest + text
    let start = 0
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', start)) {
      const isCrLf = all.charCodeAt(end - 1) === CARRIAGE_RETURN && end > start
      this.#line(all, start, isCrLf ? end - 1 : end)
      start = end + 1
    }
    this.#rest = start === 0 ? all : all.slice(start)
    if (this.#rest.length + this.#heldChars > this.#maxChars) {
      throw new Error(`The API sent an event of more than ${this.#maxChars} characters.`)
    }
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) {
      const data = this.#data
      this.#data = null
      this.#heldChars = 0
      if (data !== null) this.#onData(data)
      return
    }
    // `event:` only repeats the `type` in the data, and lines that start with a colon are keep-alives.
    if (!text.startsWith(DATA_FIELD, start)) return
    const from = start + DATA_FIELD.length
    const value = text.slice(text.charCodeAt(from) === SPACE ? from + 1 : from, end)
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    this.#heldChars += value.length
  }
}

const DATA_FIELD = 'data:'
const CARRIAGE_RETURN = 13
const SPACE = 32
const STREAM = { stream: true }
/** Far above any answer. Without this limit a server that never ends a line would fill the memory. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024
