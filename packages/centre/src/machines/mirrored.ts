import { type SearchOptions, type SearchResult, searchSessions } from '@chirality/sessions'
import { type FleetService, remoteSessions } from '../machines.ts'

/** Searches the mirrored logs of all other machines. */
export async function searchMirrors(
  fleet: Pick<FleetService, 'sessions' | 'mirrorRoot'>,
  options: Omit<SearchOptions, 'projectRoot'>,
): Promise<SearchResult> {
  const remote = new Map(remoteSessions(fleet).map(one => [one.session.id, one]))
  const machines = new Set([...remote.values()].map(({ machine }) => machine))
  const found = await Promise.all(
    [...machines].map(async machine => {
      const { hits, unreadable } = await searchSessions({
        ...options,
        projectRoot: fleet.mirrorRoot(machine),
      })
      // As its machine names it: the mirror has the log and nothing else.
      const named = hits.flatMap(hit => {
        const known = remote.get(hit.sessionId)
        if (known?.machine !== machine) return []
        const { title, projectRoot } = known.session
        return [{ ...hit, title, projectRoot }]
      })
      return { hits: named, unreadable }
    }),
  )
  return {
    hits: found.flatMap(({ hits }) => hits),
    unreadable: found.flatMap(({ unreadable }) => unreadable),
  }
}

/** Newest first. */
export function withMirrored(own: SearchResult, mirrored: SearchResult, limit = 50): SearchResult {
  const hits = [...own.hits, ...mirrored.hits].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
  return { hits: hits.slice(0, limit), unreadable: [...own.unreadable, ...mirrored.unreadable] }
}
