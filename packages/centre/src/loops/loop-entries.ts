import type { Stamped } from '@chirality/loops'

/** Something happened in a loop: one more fact in its journal, or the end of a run. */
export interface LoopChange {
  loopId: string
  /** Undefined when a run of it begins or has ended. */
  entry?: Stamped
  /** Its place in the journal, from 1. */
  n?: number
}

interface LoopEntriesOptions {
  loopId: string
  /** The entries that its journal has by now. */
  past: () => Promise<Stamped[]>
  after: number
  signal: AbortSignal
  isRunning: () => boolean
  onChange: (listener: (change: LoopChange) => void) => () => void
}

/** The journal after its `after`th entry; then live until the loop does not run any more. */
export async function* loopEntries(options: LoopEntriesOptions): AsyncGenerator<[number, Stamped][]> {
  const { loopId, after, signal, isRunning, onChange } = options
  let wake = () => {}
  let waiting: [number, Stamped][] = []
  const unlisten = onChange(change => {
    if (change.loopId !== loopId) return
    if (change.entry !== undefined && change.n !== undefined) waiting.push([change.n, change.entry])
    wake()
  })
  const past = await options.past()
  // Added while it was read.
  waiting = waiting.filter(([n]) => n > past.length)
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
