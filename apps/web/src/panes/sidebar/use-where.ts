import { useQuery } from '@tanstack/react-query'
import { useClient } from '../../state/server/use-client.ts'
import { PLACEMENT_MS, type Where, whereOf } from './where.logic.ts'

/** On which machine a new session of a project runs. Undefined if there is no other. */
export function useWhere(
  root: string,
  harness: string | undefined,
  wanted: string | undefined,
): Where | undefined {
  const client = useClient()
  const { data } = useQuery(
    client.fleet.place.queryOptions(
      { harness: harness ?? '', project: root },
      {
        enabled: root !== '' && harness !== undefined,
        // Without a fleet nothing changes.
        refetchInterval: ({ state }) => (state.data ? PLACEMENT_MS : false),
        retry: false,
      },
    ),
  )
  return whereOf(data, wanted)
}
