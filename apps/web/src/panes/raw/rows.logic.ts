import type { RawItem } from './raw-item.ts'

export type RawRow<T extends RawItem> =
  | { kind: 'turn'; key: string; turnId: string | null }
  | { kind: 'item'; key: string; item: T }

/** Where another turn begins, it is said. */
export function rowsOf<T extends RawItem>(items: readonly T[]): RawRow<T>[] {
  let turnId: string | null | undefined
  return items.flatMap((item): RawRow<T>[] => {
    const row: RawRow<T> = { kind: 'item', key: item.key, item }
    if (item.turnId === turnId) return [row]
    turnId = item.turnId
    return [{ kind: 'turn', key: `turn ${item.key}`, turnId }, row]
  })
}

/** The row that a key of the keyboard leads to; undefined when it leads nowhere. */
export function rowForKey<T extends RawItem>(
  rows: readonly RawRow<T>[],
  from: number,
  key: string,
): number | undefined {
  const isItem = (row: RawRow<T>) => row.kind === 'item'
  const indexes = { first: rows.findIndex(isItem), last: rows.findLastIndex(isItem) }
  const found = () => {
    switch (key) {
      case 'ArrowDown':
        return from < 0 ? indexes.first : rows.findIndex((row, i) => i > from && isItem(row))
      case 'ArrowUp':
        return from < 0 ? indexes.last : rows.findLastIndex((row, i) => i < from && isItem(row))
      case 'Home':
        return indexes.first
      case 'End':
        return indexes.last
      default:
        return -1
    }
  }
  const index = found()
  return index < 0 ? undefined : index
}
