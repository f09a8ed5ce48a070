/** Searches and decodes bytes. Invalid UTF-8 becomes U+FFFD and a BOM is left in, whichever engine runs it. */
export interface Utf8 {
  /** The same bytes, no copy, in the form `decode` wants. */
  view(bytes: Uint8Array): Uint8Array
  decode(view: Uint8Array, start: number, end: number): string
}

/** Node's Buffer finds a newline four times and decodes a short line twice as fast as the web APIs do. */
export function pickUtf8(buffer: BufferClass | undefined): Utf8 {
  return buffer === undefined ? webUtf8() : nodeUtf8(buffer)
}

export const utf8 = pickUtf8((globalThis as { Buffer?: BufferClass }).Buffer)

/** The part of Node's Buffer used here: core is compiled without Node's types. */
interface BufferClass {
  isBuffer(bytes: Uint8Array): boolean
  from(memory: ArrayBufferLike, byteOffset: number, length: number): Uint8Array
}

interface BufferInstance {
  toString(encoding: 'utf8', start: number, end: number): string
}

function webUtf8(): Utf8 {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    view: bytes => bytes,
    decode: (view, start, end) => decoder.decode(view.subarray(start, end)),
  }
}

function nodeUtf8(buffer: BufferClass): Utf8 {
  return {
    view: bytes =>
      buffer.isBuffer(bytes) ? bytes : buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    decode: (view, start, end) => (view as BufferInstance).toString('utf8', start, end),
  }
}
