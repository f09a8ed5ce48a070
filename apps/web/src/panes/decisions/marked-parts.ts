import type { CallRisk } from '@chirality/core'

export interface MarkedPart {
  text: string
  /** The number of the risk that this part is, from 0; null for what lies between. */
  risk: number | null
}

/** A command cut at the parts that are dangerous. A part that does not stand in it word for word is not marked. */
export function markedParts(command: string, risks: readonly CallRisk[]): MarkedPart[] {
  const places = risks
    .map(({ part }, risk) => ({ risk, start: part === '' ? -1 : command.indexOf(part), length: part.length }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.start - b.start || b.length - a.length)
  const parts: MarkedPart[] = []
  let at = 0
  for (const { risk, start, length } of places) {
    // Inside one that is marked already, as `rm` behind `sudo`.
    if (start < at) continue
    if (start > at) parts.push({ text: command.slice(at, start), risk: null })
    parts.push({ text: command.slice(start, start + length), risk })
    at = start + length
  }
  if (at < command.length) parts.push({ text: command.slice(at), risk: null })
  return parts
}
