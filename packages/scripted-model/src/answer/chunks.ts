import type { ScriptText } from '../script/script.ts'

const DEFAULT_CHUNK_CHARS = 32
/** Above this a fixed small chunk would make hundreds of thousands of events out of one text. */
const MAX_DEFAULT_CHUNKS = 256

/** Splits a text for streaming, never inside a surrogate pair. An empty text has no chunk. */
export function* chunksOf(text: string, chunkChars: number | 'all' | undefined): Generator<string> {
  const size =
    chunkChars === 'all'
      ? text.length
      : (chunkChars ?? Math.max(DEFAULT_CHUNK_CHARS, Math.ceil(text.length / MAX_DEFAULT_CHUNKS)))
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + size, text.length)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1
    yield text.slice(start, end)
    start = end
  }
}

export function wholeText(text: ScriptText): string {
  if (typeof text === 'string') return text
  const unitBytes = Buffer.byteLength(text.repeat)
  const repeated = text.repeat.repeat(Math.floor(text.bytes / unitBytes))
  return repeated + startOf(text.repeat, text.bytes % unitBytes)
}

/** Takes as many whole characters as fit into `bytes`. */
function startOf(text: string, bytes: number): string {
  let fitting = ''
  let size = 0
  for (const character of text) {
    size += Buffer.byteLength(character)
    if (size > bytes) break
    fitting += character
  }
  return fitting
}

function isHighSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdbff
}
