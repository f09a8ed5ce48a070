import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { NativeLine } from '../../state/server/server-api.ts'
import { useApi } from '../../state/server/use-api.ts'
import { useSession } from '../../state/session/use-session.ts'
import { messageOf } from '../../ui/text/error-message.ts'

export interface WholeLine {
  /** What there is of it so far, from its beginning. */
  text: string
  isWhole: boolean
  isReading: boolean
  problem: string | null
  readOn(): void
}

/** A line that was too long for the list, on demand and a piece at a time: it may be as long as all the rest. */
export function useWholeLine({ id, text, bytes, cut }: NativeLine): WholeLine {
  const api = useApi()
  const sessionId = useSession(({ state }) => state.sessionId)
  const [wanted, setWanted] = useState<string | null>(null)
  const { data, error, isFetching, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    // With its length: one that is still being written is another one when it is read again.
    queryKey: ['native-line', sessionId, id, bytes],
    queryFn: ({ pageParam }) => api.readNativeLine(sessionId, id, pageParam),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
    enabled: cut && wanted === id,
    // What was printed does not change; and many of them would fill the memory of the page.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
  return {
    text: data?.pages.map(piece => piece.text).join('') ?? text,
    isWhole: !cut || (data !== undefined && !hasNextPage),
    isReading: isFetching,
    problem: error && messageOf(error),
    readOn: () => {
      if (wanted !== id) setWanted(id)
      else void (data ? fetchNextPage() : refetch())
    },
  }
}
