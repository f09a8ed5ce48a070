import type { z } from 'zod'
import type { Answered, AnyCall, Caller, CallPlace, StreamCall, StreamCaller } from './call.ts'
import { EVERY_CALL } from './calls.ts'
import type { Centre } from './centre.ts'
import { checked } from './checked.ts'
import { callError, toCallError } from './errors.ts'
import { forwarded } from './machines/forward.ts'
import { onEachMachine } from './machines/several.ts'
import type { RemoteCall } from './machines.ts'

/**
 * Answers a call: on the machine where it has to be done, with an input that fits its schema. Every transport, the fleet
 * and the command line come in here, so a call behaves the same for all of them. What it throws is a `CodedError` whose
 * code is in `CALL_STATUS`.
 */
export async function answer<C extends Answered>(
  centre: Centre,
  call: C,
  input: unknown,
  caller: Caller = {},
): Promise<z.output<C['output']>> {
  try {
    const there = await forwarded(centre.machines, { path: pathOf(call), input })
    const data = there === undefined ? await answerHere(centre, call, input, caller) : there.data
    return data as z.output<C['output']>
  } catch (error) {
    throw toCallError(error)
  }
}

async function answerHere(centre: Centre, call: Answered, input: unknown, caller: Caller): Promise<unknown> {
  const parsed: unknown = call.input?.parse(input)
  const pass = checked(call.output)
  if (call.where !== 'each') return pass(await call.run(centre, parsed as undefined, caller))
  const several = { path: pathOf(call), input: parsed as { sessionIds: string[] } }
  const outcome = await onEachMachine(centre, several, id => call.one(centre, id, parsed))
  return pass({ ...outcome, ...call.adds })
}

/**
 * Begins a stream. An input that does not fit its schema is an error before the stream begins. Errors of the stream itself
 * come as they are, for `toCallError`: another generator around it would cost each batch a turn.
 */
export function follow<S extends StreamCall>(
  centre: Centre,
  call: S,
  input: unknown,
  follower: StreamCaller,
): ReturnType<S['run']> {
  try {
    return call.run(centre, call.input?.parse(input), follower) as ReturnType<S['run']>
  } catch (error) {
    throw toCallError(error)
  }
}

/**
 * Answers what a hub asks this machine. Only calls that are done where a session is, or on a machine that is named, can be
 * asked for, and none of them goes on to a third machine.
 */
export async function answerHub(centre: Centre, { path, input }: RemoteCall): Promise<unknown> {
  const call = typeof path === 'string' ? EVERY_CALL.get(path) : undefined
  if (call === undefined || call.kind === 'subscription' || !MAY_BE_ASKED.has(call.where))
    throw callError('unsupported', 'A hub may not call that on another machine.')
  return answer({ ...centre, machines: undefined }, call, input)
}

const MAY_BE_ASKED: ReadonlySet<CallPlace> = new Set(['owner', 'each', 'named'])

const PATHS: ReadonlyMap<AnyCall, string> = new Map([...EVERY_CALL].map(([path, call]) => [call, path]))

function pathOf(call: AnyCall): string {
  const path = PATHS.get(call)
  if (path === undefined) throw new Error('This call is not in the tree of calls.')
  return path
}
