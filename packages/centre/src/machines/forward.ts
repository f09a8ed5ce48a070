import type { Answered } from '../call.ts'
import { EVERY_CALL } from '../calls.ts'
import { callError, elsewhere } from '../errors.ts'
import { type FleetService, type RemoteCall, remoteSession } from '../machines.ts'

/** The answer of the machine that has the session. Undefined for a call that is answered on this machine. */
export async function forwarded(
  fleet: FleetService | undefined,
  { path, input }: RemoteCall,
): Promise<{ data: unknown } | undefined> {
  const sessionId = sessionOf(input)
  const owner = sessionId === undefined ? undefined : remoteSession(fleet, sessionId)?.machine
  if (fleet === undefined || sessionId === undefined || owner === undefined) return undefined
  const call = callAt(path)
  if (call.where === 'mirror') return undefined
  if (call.where !== 'owner') throw elsewhere(owner)
  const data = await callOwner(fleet, owner, { path, input })
  const made = call.makes?.(data)
  if (made !== undefined) await fleet.made(owner, made)
  return { data }
}

/** Calls the machine that has a session, once. */
export async function callOwner(
  fleet: Pick<FleetService, 'call'>,
  owner: string,
  call: RemoteCall,
): Promise<unknown> {
  const data = await fleet.call(owner, call)
  requireSound(owner, call.path, data)
  return data
}

/** A machine may lie or be newer: the page would fail on what is not as the contract says. */
function requireSound(owner: string, path: string, answer: unknown): void {
  const issues = callAt(path).output.safeParse(answer).error?.issues ?? []
  // A newer version says more.
  if (issues.every(({ code }) => code === 'unrecognized_keys')) return
  throw callError(
    'machine-silent',
    `What the machine ${owner} answered is not understood here. It may have done it: look at the session before you try again, and run the same version on both machines.`,
  )
}

function callAt(path: string): Answered {
  const call = EVERY_CALL.get(path)
  if (call === undefined || call.kind === 'subscription') throw new Error(`There is no call ${path}.`)
  return call
}

function sessionOf(input: unknown): string | undefined {
  const { sessionId } = (input ?? {}) as { sessionId?: unknown }
  return typeof sessionId === 'string' ? sessionId : undefined
}
