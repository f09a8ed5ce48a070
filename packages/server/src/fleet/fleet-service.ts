import { CodedError } from '@chirality/core'
import type { SessionHost, SessionLog, SessionStatus, StoredSession } from '@chirality/sessions'
import { TRPCError } from '@trpc/server'
import type { z } from 'zod'
import type { machine, movedSession } from '../contract/agent-answers.ts'
import { callError } from '../errors/call-error.ts'
import { toCallError } from '../errors/to-call-error.ts'

export type Machine = z.infer<typeof machine>

/** A session that another machine runs, as that machine last told it. */
export interface RemoteSession {
  machine: string
  session: StoredSession
  /** Null if it is not open there. */
  status: SessionStatus | null
}

/** A procedure, called on the machine that has the session. */
export interface RemoteCall {
  path: string
  input: unknown
}

/** What this machine brings into its fleet. */
export interface FleetLocal {
  host: SessionHost
  version: string
  agents: () => Promise<Machine['agents']>
  answer: (call: RemoteCall) => Promise<unknown>
  onRemoved: (listener: (sessionId: string) => void) => () => void
  /** A session went to another machine. */
  left: (sessionId: string) => void
}

/** The fleet as the server sees it: `FleetMember` of `@chirality/fleet`, which only a caller that wants it loads. */
export interface FleetService {
  start(local: FleetLocal): void
  machines(): Machine[]
  sessions(): RemoteSession[]
  session(sessionId: string): RemoteSession | undefined
  /** Called with the id of each session of another machine that changed or is gone. */
  onChange(listener: (sessionId: string) => void): () => void
  /** The mirrored log of a session. Close it. */
  log(sessionId: string): Promise<SessionLog>
  call(sessionId: string, call: RemoteCall): Promise<unknown>
  move(sessionId: string, to: string): Promise<z.infer<typeof movedSession>>
  close(): Promise<void>
}

/** A session or status with the machine that has it, and whether that is there now. */
export function labelled<T extends object>(
  fleet: FleetService,
  machineName: string,
  value: T,
): T & { machine: { name: string; state: Machine['state'] } } {
  const state = fleet.machines().find(({ machine: name }) => name === machineName)?.state ?? 'unknown'
  return { ...value, machine: { name: machineName, state } }
}

/** What is read here, from the mirror: it also works while the machine is away. */
const FROM_MIRROR: ReadonlySet<string> = new Set([
  'sessions.get',
  'sessions.history',
  'sessions.export',
  'sessions.markRead',
  // A hub asks both machines.
  'fleet.move',
])

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
  ...['rename', 'configure', 'nativeLines', 'nativeLine', 'forkHistory'].map(name => `sessions.${name}`),
])

/** The answer of the machine that has the session; undefined for a call that is this machine's to answer. */
export async function forwarded(
  fleet: FleetService | undefined,
  { path, input }: RemoteCall,
): Promise<{ data: unknown } | undefined> {
  const sessionId = sessionOf(input)
  const owner = sessionId === undefined ? undefined : fleet?.session(sessionId)?.machine
  if (fleet === undefined || sessionId === undefined || owner === undefined || FROM_MIRROR.has(path))
    return undefined
  if (FORWARDED.has(path)) return { data: await fleet.call(sessionId, { path, input }) }
  const message = `This session is on the machine ${owner}. Open the dashboard there to do that.`
  throw callError('unsupported', message)
}

function sessionOf(input: unknown): string | undefined {
  const { sessionId } = (input ?? {}) as { sessionId?: unknown }
  return typeof sessionId === 'string' ? sessionId : undefined
}

type Caller = Record<string, unknown>

/** Answers calls of hubs with this server's own procedures, as far as hubs may call them. */
export function answerWith(caller: object): FleetLocal['answer'] {
  return async ({ path, input }) => {
    if (typeof path !== 'string' || !FORWARDED.has(path))
      throw new CodedError('unsupported', 'A hub may not call that on another machine.')
    const procedure = path.split('.').reduce<unknown>((part, name) => (part as Caller)[name], caller)
    try {
      return await (procedure as (input: unknown) => Promise<unknown>)(input)
    } catch (error) {
      throw toCallError(error instanceof TRPCError && error.cause !== undefined ? error.cause : error)
    }
  }
}
