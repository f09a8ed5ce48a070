import { CodedError } from '@chirality/core'
import { TRPCError } from '@trpc/server'
import type { z } from 'zod'
import { CALLS } from '../contract/calls.ts'
import { callError, elsewhere } from '../errors/call-error.ts'
import { toCallError } from '../errors/to-call-error.ts'
import { type FleetLocal, type FleetService, type RemoteCall, remoteSession } from './fleet-service.ts'

/** What is read here, from the mirror: it also works while the machine is away. */
const FROM_MIRROR: ReadonlySet<string> = new Set([
  'sessions.get',
  'sessions.history',
  'sessions.export',
  'sessions.markRead',
  'decisions.pending',
  // A hub asks both machines.
  ...['fleet.move', 'fleet.takeover', 'fleet.keep'],
])

/** What a hub does on a machine that is named, not found by a session. */
const OF_MACHINE: ReadonlySet<string> = new Set(['sessions.create'])

/** What a hub may ask of another machine. */
const FORWARDED: ReadonlySet<string> = new Set([
  ...[
    'start',
    'send',
    'steer',
    'interrupt',
    'kill',
    'leftovers',
    'prewarm',
    'setPermissionMode',
    'contextUsage',
  ].map(name => `turns.${name}`),
  ...['list', 'edit', 'move', 'remove', 'clear', 'hold', 'release'].map(name => `turns.queue.${name}`),
  ...['decisions.answer', 'budgets.setSession'],
  ...['tree', 'find', 'read', 'status', 'diff', 'turnDiff', 'blame'].map(name => `files.${name}`),
  ...[
    ...['rename', 'configure', 'nativeLines', 'nativeLine', 'images', 'fork', 'forkHistory'],
    ...['shelve', 'discard', 'restore', 'delete'],
  ].map(name => `sessions.${name}`),
  ...['state', 'branchDiff', 'file', 'discard', 'undo', 'redo', 'commit', 'merge', 'resolve'].map(
    name => `review.${name}`,
  ),
  ...['pushPlan', 'push', 'backPlan', 'back', 'undoBack'].map(name => `review.${name}`),
])

/** What the contract says of their answers. */
const ANSWERS: ReadonlyMap<string, z.ZodType> = new Map(
  [...FORWARDED].map(path => [path, (partOf(CALLS, path) as { output: z.ZodType }).output]),
)

/** The session that an answer says was made, for each call that makes one. */
const MADE: Readonly<Record<string, (answer: unknown) => unknown>> = {
  'sessions.fork': answer => answer,
  'review.back': answer => (answer as z.infer<typeof CALLS.review.back.output>).session,
}

/** The answer of the machine that has the session; undefined for a call that is this machine's to answer. */
export async function forwarded(
  fleet: FleetService | undefined,
  { path, input }: RemoteCall,
): Promise<{ data: unknown } | undefined> {
  const sessionId = sessionOf(input)
  const owner = sessionId === undefined ? undefined : remoteSession(fleet, sessionId)?.machine
  if (fleet === undefined || sessionId === undefined || owner === undefined || FROM_MIRROR.has(path))
    return undefined
  if (!FORWARDED.has(path)) throw elsewhere(owner)
  const data = await callOwner(fleet, owner, { path, input })
  const made = MADE[path]?.(data)
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
  const issues = ANSWERS.get(path)?.safeParse(answer).error?.issues ?? []
  // A newer version says more.
  if (issues.every(({ code }) => code === 'unrecognized_keys')) return
  throw callError(
    'machine-silent',
    `What the machine ${owner} answered is not understood here. It may have done it: look at the session before you try again, and run the same version on both machines.`,
  )
}

function sessionOf(input: unknown): string | undefined {
  const { sessionId } = (input ?? {}) as { sessionId?: unknown }
  return typeof sessionId === 'string' ? sessionId : undefined
}

function partOf(whole: object, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], whole)
}

/** Answers calls of hubs with this server's own procedures, as far as hubs may call them. */
export function answerWith(caller: object): FleetLocal['answer'] {
  return async ({ path, input }) => {
    if (typeof path !== 'string' || !(FORWARDED.has(path) || OF_MACHINE.has(path)))
      throw new CodedError('unsupported', 'A hub may not call that on another machine.')
    try {
      return await (partOf(caller, path) as (input: unknown) => Promise<unknown>)(input)
    } catch (error) {
      throw toCallError(error instanceof TRPCError && error.cause !== undefined ? error.cause : error)
    }
  }
}
