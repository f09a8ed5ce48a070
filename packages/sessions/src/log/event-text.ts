/** Consecutive envelopes as they are in the log: JSON objects separated by commas, without brackets. */
export interface EventText {
  from: number
  to: number
  text: string
}

/** `lines` is a part of the file, each line with its newline. The JSON itself contains none. */
export function textOfLines(from: number, to: number, lines: string): EventText {
  return { from, to, text: lines.slice(0, -1).replaceAll('\n', ',') }
}

/** Joins consecutive texts. */
export function joinTexts(texts: readonly EventText[]): EventText {
  const [first] = texts
  const last = texts.at(-1)
  if (first === undefined || last === undefined)
    throw new RangeError('The text of a batch needs at least one event.')
  if (first === last) return first
  return { from: first.from, to: last.to, text: texts.map(({ text }) => text).join(',') }
}
