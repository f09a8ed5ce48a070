import type { PermissionRequestEvent } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { FileDiff } from '../../diff/file-diff.ts'
import { placedEdit } from '../../diff/tool-edits.ts'
import { useApi } from '../../state/server/use-api.ts'
import { relative } from '../chat/tool-summary.logic.ts'

/** What the request would change, against the file as it is now; by its input alone where the file cannot be read. */
export function usePlacedEdits(
  { requestId, toolName, input }: PermissionRequestEvent,
  asked: readonly FileDiff[],
  project: string,
): readonly FileDiff[] {
  const api = useApi()
  const [only] = asked.length === 1 ? asked : []
  const path = only && !Array.isArray(input.changes) ? relative(only.path, project) : undefined
  const { data } = useQuery({
    queryKey: ['asked-file', requestId, path],
    // No file yet is an answer like any other.
    queryFn: () => api.readFile(project, path ?? '').catch(() => null),
    enabled: path !== undefined && project !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
  return useMemo(() => {
    const whole = data && data.note === null ? data.text : null
    const placed = whole === null ? undefined : placedEdit(toolName, input, whole)
    return placed ? [placed] : asked
  }, [data, asked, toolName, input])
}
