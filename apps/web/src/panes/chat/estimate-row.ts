import type { ChatRow } from './rows.logic.ts'

const LINE_PX = 21
const CHARS_PER_LINE = 100

/** A guess at the height of a row that was never shown: near enough that the scroll bar does not jump. */
export function estimateRow(row: ChatRow | undefined): number {
  if (row === undefined) return LINE_PX
  if (row.kind === 'decision') return 180
  if (row.kind !== 'item') return 34
  const { item } = row.node
  switch (item.kind) {
    case 'user':
      return 60 + textHeight(item.text)
    case 'text':
      return 16 + textHeight(item.text)
    case 'tool':
      return 40
    default:
      return 30
  }
}

function textHeight(text: string): number {
  return Math.max(1, Math.ceil(text.length / CHARS_PER_LINE)) * LINE_PX
}
