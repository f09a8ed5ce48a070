import { CodedError } from '@chirality/core'
import { toCallError } from '../errors/to-call-error.ts'
import type { FleetService } from './fleet-service.ts'
import { callOwner } from './forward.ts'

export interface SeveralSessions {
  path: string
  input: { sessionIds: string[] }
}

/**
 * Does something with sessions of this machine and of others: `own` with those of this machine, and one call to each other
 * machine. One that fails keeps no other from it; the error says how many are done.
 */
export async function onEachMachine(
  fleet: FleetService | undefined,
  { path, input }: SeveralSessions,
  own: (sessionIds: string[]) => Promise<void>,
): Promise<void> {
  const ids = [...new Set(input.sessionIds)]
  const groups = new Map<string | undefined, string[]>()
  for (const id of ids) {
    const machine = fleet?.machineOf(id)
    groups.set(machine, [...(groups.get(machine) ?? []), id])
  }
  const failed: { count: number; error: CodedError }[] = []
  for (const [machine, sessionIds] of groups) {
    try {
      if (fleet === undefined || machine === undefined) await own(sessionIds)
      else await callOwner(fleet, machine, { path, input: { ...input, sessionIds } })
    } catch (error) {
      if (groups.size === 1) throw error
      failed.push({ count: sessionIds.length, error: toCallError(error) })
    }
  }
  const [first] = failed
  if (first === undefined) return
  const count = failed.reduce((sum, one) => sum + one.count, 0)
  const words = failed.map(({ error }) => error.message).join(' ')
  throw new CodedError(
    first.error.code,
    `${words} This is about ${count} of ${ids.length} sessions; with the others it is done.`,
  )
}
