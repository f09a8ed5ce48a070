const MAX_CHARS = 200

/** A title out of a message that may be pages long. */
export function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line
}
