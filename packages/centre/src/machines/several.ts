import { CodedError } from '@chirality/core'
import type { SessionHost } from '@chirality/sessions'
import type { z } from 'zod'
import { toCallError } from '../errors.ts'
import type { FleetService, RemoteCall } from '../machines.ts'
import type { severalDone } from '../shapes/sessions.ts'
import { callOwner } from './forward.ts'

/** A call about several sessions. */
export interface SeveralSessions extends RemoteCall {
  input: { sessionIds: string[] }
}

export type SeveralDone = z.infer<typeof severalDone>

/**
 * Does something with sessions of this machine and of others: `own` with each of this machine, and one call to each other
 * machine. One that fails keeps no other from it: the answer says which are done, so that they can be taken back. If none
 * is done it is an error.
 */
export async function onEachMachine(
  { machines, host }: { machines: FleetService | undefined; host: Pick<SessionHost, 'logFault'> },
  { path, input }: SeveralSessions,
  own: (sessionId: string) => Promise<unknown>,
): Promise<SeveralDone> {
  const ids = [...new Set(input.sessionIds)]
  const groups = new Map<string | undefined, string[]>()
  for (const id of ids) {
    const machine = machines?.machineOf(id)
    groups.set(machine, [...(groups.get(machine) ?? []), id])
  }
  const faults = new Faults()
  for (const [machine, sessionIds] of groups) {
    if (machines === undefined || machine === undefined) {
      for (const id of sessionIds) await own(id).catch(error => faults.add([id], toCallError(error)))
      continue
    }
    try {
      const call = { path, input: { ...input, sessionIds } }
      const { failed } = (await callOwner(machines, machine, call)) as SeveralDone
      for (const { code, message, sessionIds: named } of failed) {
        // A machine may lie: it answers for its own sessions only.
        const its = sessionIds.filter(id => named.includes(id))
        if (its.length > 0) faults.add(its, new CodedError(code, message))
      }
    } catch (error) {
      faults.add(sessionIds, toCallError(error))
    }
  }
  const done = ids.filter(id => !faults.has(id))
  if (done.length === 0) throw faults.asError()
  for (const { code, cause } of faults.errors()) if (code === 'internal') host.logFault(cause)
  return { done, failed: faults.list() }
}

/** The failures, one entry for each reason: five hundred sessions mostly have one. */
class Faults {
  readonly #byReason = new Map<string, { error: CodedError; sessionIds: string[] }>()
  readonly #ids = new Set<string>()

  add(sessionIds: readonly string[], error: CodedError): void {
    const reason = `${error.code} ${error.message}`
    const known = this.#byReason.get(reason)
    if (known === undefined) this.#byReason.set(reason, { error, sessionIds: [...sessionIds] })
    else known.sessionIds.push(...sessionIds)
    for (const id of sessionIds) this.#ids.add(id)
  }

  has(sessionId: string): boolean {
    return this.#ids.has(sessionId)
  }

  list(): SeveralDone['failed'] {
    return [...this.#byReason.values()].map(({ error: { code, message }, sessionIds }) => ({
      sessionIds,
      code,
      message,
    }))
  }

  errors(): CodedError[] {
    return [...this.#byReason.values()].map(({ error }) => error)
  }

  asError(): CodedError {
    const [first, ...others] = this.errors()
    if (first === undefined) throw new Error('Nothing failed.')
    if (others.length === 0) return first
    const words = [first, ...others].map(({ message }) => message).join(' ')
    return new CodedError(first.code, words, first.cause)
  }
}
