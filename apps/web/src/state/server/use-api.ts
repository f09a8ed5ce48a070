import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createContext, use, useEffect, useState } from 'react'
import type { ConnectionState, HarnessInfo, ServerApi, UsageReport } from './server-api.ts'

export const ApiContext = createContext<ServerApi | null>(null)

export function useApi(): ServerApi {
  const api = use(ApiContext)
  if (!api) throw new Error('useApi is only for what is inside an ApiContext')
  return api
}

export function useConnection(): ConnectionState {
  const api = useApi()
  const [state, setState] = useState<ConnectionState>('connecting')
  useEffect(() => api.watchConnection(setState), [api])
  return state
}

const NONE: readonly HarnessInfo[] = []

export function useHarnesses(): readonly HarnessInfo[] {
  const api = useApi()
  return useQuery({ queryKey: ['harnesses'], queryFn: () => api.harnesses() }).data ?? NONE
}

export function useHarness(id: string | null): HarnessInfo | undefined {
  return useHarnesses().find(harness => harness.id === id)
}

/**
 * A harness with the models that the installed agent itself offers. The agent has to be started for that, so `ask` is
 * called when somebody opens a choice; until then it has the models that every release has. A model that was chosen before
 * and is none of these is looked for at once.
 */
export function useOffered(
  harness: HarnessInfo | undefined,
  project: string,
  model = '',
): { harness: HarnessInfo | undefined; ask(): void } {
  const api = useApi()
  const [isAsked, setAsked] = useState(false)
  const id = harness?.id ?? ''
  const isKnown = model === '' || harness?.models.some(one => one.id === model)
  const { data: models } = useQuery({
    queryKey: ['models', id, project],
    queryFn: () => api.models(id, project),
    enabled: (isAsked || !isKnown) && id !== '' && project !== '',
    staleTime: Number.POSITIVE_INFINITY,
  })
  return { harness: harness && models ? { ...harness, models } : harness, ask: () => setAsked(true) }
}

const USAGE_EVERY_MS = 10_000

/** What was spent in the last days, asked for again while somebody looks. */
export function useUsage(days: number): { report: UsageReport | undefined; error: Error | null } {
  const api = useApi()
  const { data, error } = useQuery({
    ...{ queryKey: ['usage', days], queryFn: () => api.usage(days) },
    ...{ refetchInterval: USAGE_EVERY_MS, placeholderData: keepPreviousData },
  })
  return { report: data, error }
}
