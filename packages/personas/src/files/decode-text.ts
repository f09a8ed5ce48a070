/** Text, and what had to be done to make it text. A byte order mark is dropped. */
export type DecodedText =
  | { kind: 'text'; text: string }
  /** Some bytes were not UTF-8 and became U+FFFD. */
  | { kind: 'repaired'; text: string }
  /** Not text at all. */
  | { kind: 'binary' }

/** `isHead`: the bytes stop in the middle of a file, perhaps in the middle of a character. */
export function decodeText(bytes: Uint8Array, isHead = false): DecodedText {
  // UTF-16 lands here too.
  if (bytes.includes(0)) return { kind: 'binary' }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isHead }) }
  } catch {
    return { kind: 'repaired', text: new TextDecoder().decode(bytes, { stream: isHead }) }
  }
}
