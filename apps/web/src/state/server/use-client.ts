import type { CallOutputs, ConnectionState } from '@chirality/client'
import type { QueryableClient } from '@chirality/client/queries'
import { keepPreviousData, type QueryKey, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, use, useCallback, useEffect, useState } from 'react'
import type { Connection } from '../connection.ts'
import type { HarnessInfo, UsageReport } from './answers.ts'

interface Server {
  client: QueryableClient
  connection: Pick<Connection, 'live' | 'download'>
}

export const ServerContext = createContext<Server | null>(null)

function useServer(): Server {
  const server = use(ServerContext)
  if (!server) throw new Error('useClient needs a ServerContext around it')
  return server
}

/** Calls of the server, and their options and keys for TanStack Query. */
export function useClient(): QueryableClient {
  return useServer().client
}

/** Asks calls again of which something on the page is shown: `askAgain(client.rules.list.queryFilter())`. */
export function useAskAgain(): (...calls: { queryKey: QueryKey }[]) => Promise<void> {
  const queries = useQueryClient()
  return useCallback(
    async (...calls) => void (await Promise.all(calls.map(call => queries.invalidateQueries(call)))),
    [queries],
  )
}

export function useDownload(): Connection['download'] {
  return useServer().connection.download
}

export function useConnection(): ConnectionState {
  const { live } = useServer().connection
  const [state, setState] = useState<ConnectionState>('connecting')
  useEffect(() => live.watchConnection(setState), [live])
  return state
}

const NO_HARNESSES: readonly HarnessInfo[] = []

export function useHarnesses(): readonly HarnessInfo[] {
  return useQuery(useClient().harnesses.list.queryOptions()).data ?? NO_HARNESSES
}

export function useHarness(id: string | null): HarnessInfo | undefined {
  return useHarnesses().find(harness => harness.id === id)
}

type Projects = CallOutputs['projects']['list']
const NO_PROJECTS: Projects = []

export function useProjects(): Projects {
  return useQuery(useClient().projects.list.queryOptions()).data ?? NO_PROJECTS
}

export interface PersonaInfo {
  id: string
  description: string | null
  harness: string | null
  model: string | null
  /** Why its file is no persona. */
  error: string | null
}

/** Personas of a project; asked for once the project is known. */
export function usePersonas(
  project: string,
  options: { enabled?: boolean; staleTime?: number; retry?: boolean } = {},
) {
  return useQuery(
    useClient().personas.list.queryOptions(
      { project },
      { enabled: project !== '', ...options, select: personaInfos },
    ),
  )
}

function personaInfos(entries: CallOutputs['personas']['list']): PersonaInfo[] {
  return entries.map(entry => {
    if (entry.kind === 'broken')
      return { id: entry.id, description: null, harness: null, model: null, error: entry.error }
    const { id, description = null, harness = null, model = null } = entry.persona
    return { id, description, harness, model, error: null }
  })
}

/**
 * A harness with the models that the installed agent itself offers. The agent has to be started for that, so `ask` is
 * called when a choice opens; until then it has the models of every release. A chosen model that is none of these is
 * looked up at once.
 */
export function useOffered(
  harness: HarnessInfo | undefined,
  project: string,
  model = '',
): { harness: HarnessInfo | undefined; ask(): void } {
  const client = useClient()
  const [isAsked, setAsked] = useState(false)
  const id = harness?.id ?? ''
  const isKnown = model === '' || harness?.models.some(one => one.id === model)
  const { data: models } = useQuery(
    client.harnesses.models.queryOptions(
      { harness: id, project },
      {
        enabled: (isAsked || !isKnown) && id !== '' && project !== '',
        staleTime: Number.POSITIVE_INFINITY,
      },
    ),
  )
  return { harness: harness && models ? { ...harness, models } : harness, ask: () => setAsked(true) }
}

const USAGE_EVERY_MS = 10_000

/** Cost and tokens of the last days, by day of the browser's time zone, asked for again while the page is open. */
export function useUsage(days: number): {
  report: UsageReport | undefined
  error: { message: string } | null
} {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const { data, error } = useQuery(
    useClient().sessions.usage.queryOptions(
      { days, timeZone },
      { refetchInterval: USAGE_EVERY_MS, placeholderData: keepPreviousData },
    ),
  )
  return { report: data, error }
}
