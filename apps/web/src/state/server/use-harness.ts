import { useQuery } from '@tanstack/react-query'
import type { HarnessInfo } from './server-api.ts'
import { useApi } from './use-api.ts'

const NONE: readonly HarnessInfo[] = []

export function useHarnesses(): readonly HarnessInfo[] {
  const api = useApi()
  return useQuery({ queryKey: ['harnesses'], queryFn: () => api.harnesses() }).data ?? NONE
}

export function useHarness(id: string | null): HarnessInfo | undefined {
  return useHarnesses().find(harness => harness.id === id)
}
