import type { z } from 'zod'
import type { Centre } from './centre.ts'
import type { Pace } from './sessions/event-batches.ts'

/** Facts about who calls, beside the input. */
export interface Caller {
  /** The signed-in browser. Undefined for a program with the server's own token. */
  browser?: string | undefined
  /** Fires when nobody waits for the answer any more. */
  signal?: AbortSignal | undefined
}

/** A caller that stays and is sent what comes. */
export interface StreamCaller extends Caller {
  pace: Pace
  /** Whether events may come as `JsonEvents`. */
  takesJson: boolean
}

/**
 * The place where a call is done.
 *
 * - `here`: on this machine. For a session of another machine it is refused, with the name of that machine.
 * - `owner`: on the machine that has the session.
 * - `mirror`: on this machine, for every session: what other machines told of theirs is read from the mirror.
 * - `each`: on the machine of each session in `sessionIds`. Only `eachSession` makes such a call.
 * - `named`: on the machine that the input names; the handler asks it.
 */
export type CallPlace = 'here' | 'owner' | 'mirror' | 'each' | 'named'

/** Only a call without a session may leave the place out: it is done here. One for several sessions is `eachSession`. */
type PlaceOf<I> =
  'sessionId' extends Keys<I>
    ? { where: 'here' | 'owner' | 'mirror' }
    : 'sessionIds' extends Keys<I>
      ? never
      : { where?: 'here' | 'named' }

type Keys<I> = I extends z.ZodType ? keyof NonNullable<z.output<I>> : never

export type InputSchema = z.ZodType | undefined
export type ParsedInput<I extends InputSchema> = I extends z.ZodType ? z.output<I> : undefined

/** A question (`query`) or an order (`mutation`) that the application answers once. */
export interface Call<
  K extends 'query' | 'mutation' = 'query' | 'mutation',
  I extends InputSchema = InputSchema,
  O extends z.ZodType = z.ZodType,
> {
  kind: K
  /** One sentence, for the API's description. */
  about: string
  input: I
  output: O
  where: Exclude<CallPlace, 'each'>
  /** The session that an answer says was made: a machine that made it for this one is asked no further. */
  makes?(answer: z.output<O>): unknown
  run(centre: Centre, input: ParsedInput<I>, caller: Caller): Promise<z.output<O>> | z.output<O>
}

/** An order for several sessions: one that fails keeps no other from it, and the answer says which are done. */
export interface EachCall<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  kind: 'mutation'
  about: string
  input: I
  output: O
  where: 'each'
  /** Does it with one session of this machine. */
  one(centre: Centre, sessionId: string, input: z.output<I>): Promise<unknown>
  /** The fields of the answer beside `done` and `failed`. */
  adds: Omit<z.output<O>, 'done' | 'failed'>
}

/** A stream that is followed until the caller leaves. It is read here, or from the mirror. */
export interface StreamCall<
  I extends InputSchema = InputSchema,
  Y extends z.ZodType = z.ZodType,
  R extends boolean = boolean,
> {
  kind: 'subscription'
  about: string
  input: I
  yields: Y
  /** Whether each part has an `id`, from which a reader can go on. */
  resumes: R
  run(centre: Centre, input: ParsedInput<I>, follower: StreamCaller): AsyncIterable<Yielded<z.output<Y>>>
}

/** A part of a stream, and the place from which a reader goes on after it, if it can. */
export interface Yielded<T> {
  data: T
  id?: string
}

/** A call with one answer. */
export type Answered = Call | EachCall
export type AnyCall = Answered | StreamCall

/** Calls by their names. The path to a call in the tree is its name everywhere. */
export interface CallTree {
  readonly [name: string]: AnyCall | CallTree
}

type Definition<I extends InputSchema, O extends z.ZodType> = Omit<
  Call<'query', I, O>,
  'kind' | 'input' | 'where'
> & { input?: I } & PlaceOf<I>

/** Defines a call that changes nothing. */
export function query<O extends z.ZodType, I extends InputSchema = undefined>(
  definition: Definition<I, O>,
): Call<'query', I, O> {
  return { kind: 'query', ...complete(definition) }
}

/** Defines a call that changes something. */
export function mutation<O extends z.ZodType, I extends InputSchema = undefined>(
  definition: Definition<I, O>,
): Call<'mutation', I, O> {
  return { kind: 'mutation', ...complete(definition) }
}

/** Defines an order for several sessions. */
export function eachSession<
  I extends z.ZodType<{ sessionIds: string[] }>,
  O extends z.ZodType<{ done: string[]; failed: unknown[] }>,
>(definition: Omit<EachCall<I, O>, 'kind' | 'where'>): EachCall<I, O> {
  return { kind: 'mutation', where: 'each', ...definition }
}

/** Defines a stream. */
export function subscription<Y extends z.ZodType, R extends boolean, I extends InputSchema = undefined>(
  definition: Omit<StreamCall<I, Y, R>, 'kind' | 'input'> & { input?: I },
): StreamCall<I, Y, R> {
  return { kind: 'subscription', ...definition, input: definition.input as I }
}

function complete<I extends InputSchema, O extends z.ZodType>(definition: Definition<I, O>) {
  const {
    input,
    where = 'here',
    ...rest
  } = definition as Omit<Definition<I, O>, 'where'> & {
    where?: Exclude<CallPlace, 'each'>
  }
  return { ...rest, input: input as I, where }
}

/** Every call of a tree by its path, such as `turns.queue.edit`. */
export function flatCalls(tree: CallTree, above: readonly string[] = []): Map<string, AnyCall> {
  return new Map(
    Object.entries(tree).flatMap(([name, part]): [string, AnyCall][] => {
      const path = [...above, name]
      return isCall(part) ? [[path.join('.'), part]] : [...flatCalls(part, path)]
    }),
  )
}

export function isCall(part: AnyCall | CallTree): part is AnyCall {
  return typeof part.kind === 'string'
}
