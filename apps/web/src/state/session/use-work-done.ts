import { useMemo } from 'react'
import { useSession } from './use-session.ts'

/** Grows with each result of a tool and each turn that ends: then files may have changed. */
export function useWorkDone(): number {
  const items = useSession(({ state }) => state.items)
  const turns = useSession(({ state }) => state.turns)
  return useMemo(
    () =>
      items.filter(item => item.kind === 'tool' && item.endedAt !== null).length +
      turns.filter(({ endedAt }) => endedAt !== null).length,
    [items, turns],
  )
}
