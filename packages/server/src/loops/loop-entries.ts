import { readJournal, type Stamped } from '@chirality/loops'

/** Something happened in a loop: one more fact in its journal, or the end of a run. */
export interface LoopChange {
  loopId: string
  /** Undefined when a run of it begins or has ended. */
  entry?: Stamped
}

interface LoopEntriesOptions {
  loopId: string
  /** With its journal. */
  folder: string
  after: number
  signal: AbortSignal
  isRunning: () => boolean
  onChange: (listener: (change: LoopChange) => void) => () => void
}

/** The journal after its `after`th entry; then live until the loop does not run any more. */
export async function* loopEntries(options: LoopEntriesOptions): AsyncGenerator<[number, Stamped][]> {
  const { loopId, folder, after, signal, isRunning, onChange } = options
  let wake = () => {}
  let waiting: [number, Stamped][] = []
  let seen = 0
  const unlisten = onChange(change => {
    if (change.loopId !== loopId) return
    if (change.entry !== undefined) {
      seen += 1
      waiting.push([seen, change.entry])
    }
    wake()
  })
  const past = readJournal(folder).entries
  seen = past.length
  const end = () => wake()
  signal.addEventListener('abort', end)
  try {
    yield past.map((entry, at): [number, Stamped] => [at + 1, entry]).slice(after)
    for (;;) {
      const isOver = !isRunning()
      if (waiting.length > 0) {
        const batch = waiting.filter(([n]) => n > after)
        waiting = []
        if (batch.length > 0) yield batch
      } else if (isOver || signal.aborted) return
      else
        await new Promise<void>(resolve => {
          wake = resolve
        })
    }
  } finally {
    unlisten()
    signal.removeEventListener('abort', end)
  }
}
