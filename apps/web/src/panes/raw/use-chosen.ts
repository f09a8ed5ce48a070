import { useRef, useState } from 'react'
import { eventOfLine, lineOfEvent, type Pair } from './counterpart.logic.ts'
import type { EventItem, LineItem } from './raw-item.ts'
import type { RawLists } from './raw-lists.ts'

export type Side = 'events' | 'lines'

export interface Chosen extends Omit<Pair, 'relation'> {
  /** Where it was chosen. */
  side: Side
  relation: Pair['relation'] | 'searching' | 'failed'
}

export interface Choice {
  chosen: Chosen | null
  chooseEvent(event: EventItem): void
  chooseLine(line: LineItem): void
  clear(): void
}

/** What is chosen on one side, and what belongs to it on the other as soon as it is found. */
export function useChosen(lists: RawLists): Choice {
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const latest = useRef(0)
  const choose = (first: Chosen, find: () => Promise<Pair>) => {
    const turn = ++latest.current
    const settle = (found: Chosen) => {
      // Somebody has chosen another one meanwhile.
      if (latest.current === turn) setChosen(found)
    }
    setChosen(first)
    find().then(
      pair => settle({ ...pair, side: first.side }),
      () => settle({ ...first, relation: 'failed' }),
    )
  }
  return {
    chosen,
    chooseEvent: event =>
      choose({ side: 'events', event, line: null, relation: 'searching' }, () => lineOfEvent(lists, event)),
    chooseLine: line =>
      choose({ side: 'lines', event: null, line, relation: 'searching' }, () => eventOfLine(lists, line)),
    clear: () => {
      latest.current += 1
      setChosen(null)
    },
  }
}
