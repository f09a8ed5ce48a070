import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../state/server/use-api.ts'
import { PLACEMENT_MS, type Where, whereOf } from './where.logic.ts'

/** On which machine a new session of a project runs. Undefined if there is no other. */
export function useWhere(
  root: string,
  harness: string | undefined,
  wanted: string | undefined,
): Where | undefined {
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['placement', harness, root],
    queryFn: () => api.placeSession(harness ?? '', root),
    enabled: root !== '' && harness !== undefined,
    // Without a fleet nothing changes.
    refetchInterval: ({ state }) => (state.data ? PLACEMENT_MS : false),
    retry: false,
  })
  return whereOf(data, wanted)
}
