/** Consecutive envelopes as they stand in the log: JSON with commas between them, and no brackets around. */
export interface EventText {
  from: number
  to: number
  text: string
}

/** `lines` is what the file has, each with its line break. JSON has none inside. */
export function textOfLines(from: number, to: number, lines: string): EventText {
  return { from, to, text: lines.slice(0, -1).replaceAll('\n', ',') }
}

/** Neighbours as one. */
export function joinTexts(texts: readonly EventText[]): EventText {
  const [first] = texts
  const last = texts.at(-1)
  if (first === undefined || last === undefined)
    throw new RangeError('The text of a batch needs at least one event.')
  if (first === last) return first
  return { from: first.from, to: last.to, text: texts.map(({ text }) => text).join(',') }
}
