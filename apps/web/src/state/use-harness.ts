import { useQuery } from '@tanstack/react-query'
import type { HarnessInfo, SessionStatus } from './server-api.ts'
import { useApi } from './use-api.ts'

const NONE: readonly HarnessInfo[] = []

export function useHarnesses(): readonly HarnessInfo[] {
  const api = useApi()
  return useQuery({ queryKey: ['harnesses'], queryFn: () => api.harnesses() }).data ?? NONE
}

export function useHarness(id: string | null): HarnessInfo | undefined {
  return useHarnesses().find(harness => harness.id === id)
}

/** Whether what a session costs is known: nothing is not the same as free. */
export function useIsPriced({ harness, costUsd }: Pick<SessionStatus, 'harness' | 'costUsd'>): boolean {
  const info = useHarness(harness)
  return (costUsd ?? 0) > 0 || info === undefined || info.capabilities.supportsCostTracking
}
