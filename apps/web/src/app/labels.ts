import { useHarness } from '../state/server/use-client.ts'

/** Before the server has told of its agents, and for one that it does not have, the id has to do. */
export function useHarnessLabel(id: string | null): string {
  const harness = useHarness(id)
  return harness?.label ?? harness?.name ?? id ?? 'default agent'
}
