import {
  type Answered,
  type AnyCall,
  answer,
  CALLS,
  type CallTree,
  checked,
  follow,
  type InputSchema,
  isCall,
  type StreamCall,
  type Yielded,
} from '@chirality/centre'
import {
  type inferRouterInputs,
  type inferRouterOutputs,
  initTRPC,
  type TRPCMutationProcedure,
  type TRPCQueryProcedure,
  type TRPCSubscriptionProcedure,
  tracked,
} from '@trpc/server'
import type { z } from 'zod'
import type { CallContext } from './context.ts'
import { callErrorOf, toTrpcError } from './errors.ts'

const t = initTRPC.context<CallContext>().create({
  // Stacks are only for the server's own output.
  isDev: false,
  errorFormatter: ({ shape, error }) => {
    const call = callErrorOf(error)
    return {
      ...shape,
      message: call?.message ?? error.message,
      data: { ...shape.data, reason: call?.code ?? null },
    }
  },
})

/**
 * The input goes on as it came: `answer` parses it, for every transport alike. The body of a request is not read for a call
 * without input: a client need not send one.
 */
function procedureFor({ input }: AnyCall): typeof taking {
  return input === undefined ? (t.procedure as unknown as typeof taking) : taking
}

const taking = t.procedure.input((given: unknown) => given)

/** The procedure of a call, as a client sees it. */
type ProcedureOf<C> =
  C extends StreamCall<infer I, infer Y>
    ? TRPCSubscriptionProcedure<{
        meta: unknown
        input: Given<I>
        output: AsyncIterable<Sent<C, z.output<Y>>>
      }>
    : C extends Answered
      ? C['kind'] extends 'query'
        ? TRPCQueryProcedure<{ meta: unknown; input: Given<C['input']>; output: z.output<C['output']> }>
        : TRPCMutationProcedure<{ meta: unknown; input: Given<C['input']>; output: z.output<C['output']> }>
      : never

/** A part of a stream that a reader can go on from has an id. */
type Sent<C, T> = C extends { resumes: true } ? { id: string; data: T } : T

type Given<I extends InputSchema> = I extends z.ZodType ? z.input<I> : undefined

export type RecordOf<T> = { [K in keyof T]: T[K] extends AnyCall ? ProcedureOf<T[K]> : RecordOf<T[K]> }

/** Makes a router of a tree of calls. */
export function routerOf<T extends CallTree>(calls: T) {
  return t.router(proceduresOf(calls) as RecordOf<T>)
}

function proceduresOf(tree: CallTree): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tree).map(([name, part]) => [name, isCall(part) ? procedureOf(part) : proceduresOf(part)]),
  )
}

function procedureOf(call: AnyCall) {
  const made = call.kind === 'subscription' ? streamOf(call) : answerOf(call)
  // For tools that read routers: the schema that the input is parsed with.
  made._def.inputs = call.input === undefined ? [] : [call.input]
  return made
}

function answerOf(call: Answered) {
  const resolve = ({ ctx, input, signal }: Asked) =>
    answer(ctx.centre, call, input, { ...ctx.caller, signal }).catch((error: unknown) => {
      throw toTrpcError(error)
    })
  const described = procedureFor(call).output(checked(call.output))
  return call.kind === 'query' ? described.query(resolve) : described.mutation(resolve)
}

interface Asked {
  ctx: CallContext
  input: unknown
  signal: AbortSignal | undefined
}

function streamOf(call: StreamCall) {
  return procedureFor(call).subscription(({ ctx, input, signal }: Asked) => {
    try {
      return sent(follow(ctx.centre, call, input, { ...ctx.caller, signal }))
    } catch (error) {
      throw toTrpcError(error)
    }
  })
}

/** The parts of a stream as tRPC sends them. Not a generator: that would cost each batch of events one more. */
function sent(stream: ReturnType<StreamCall['run']>): AsyncIterable<unknown> {
  const parts = stream[Symbol.asyncIterator]()
  const asSent = (part: IteratorResult<Yielded<unknown>>): IteratorResult<unknown> => {
    if (part.done) return { done: true, value: undefined }
    const { id, data } = part.value
    return { done: false, value: id === undefined ? data : tracked(id, data) }
  }
  const fail = (error: unknown) => {
    throw toTrpcError(error)
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => parts.next().then(asSent, fail),
      return: async () => {
        await parts.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}

export const appRouter = routerOf(CALLS)

/** All procedures of the dashboard. */
export type AppRouter = typeof appRouter

/** Input and output of each procedure, by router and name, as a client sees them. */
export type CallInputs = inferRouterInputs<AppRouter>
export type CallOutputs = inferRouterOutputs<AppRouter>
