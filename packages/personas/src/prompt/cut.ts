/** The longest start of `text` with at most `maxChars` UTF-16 units that does not end inside a character. */
export function cutChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const end = Math.max(0, maxChars)
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)
}

/** The same for bytes of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= maxBytes) return text
  // In a stream the decoder keeps back a character whose end has not come.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), { stream: true })
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
