import type { AppRouter } from '@chirality/server'
import type { QueryClient } from '@tanstack/react-query'
import { createTRPCRecursiveProxy } from '@trpc/server'
import { createTRPCOptionsProxy, type TRPCOptionsProxy } from '@trpc/tanstack-react-query'
import type { Client } from './create-client.ts'

/**
 * The calls with options and keys for TanStack Query beside them:
 * `useQuery(client.review.state.queryOptions({ sessionId }))`, `client.turns.kill.mutate({ sessionId })`.
 */
export type QueryableClient = Client & TRPCOptionsProxy<AppRouter>

const CALLS: ReadonlySet<string | undefined> = new Set(['query', 'mutate', 'subscribe'])

export function withQueries(calls: Client, queryClient: QueryClient): QueryableClient {
  const options = createTRPCOptionsProxy<AppRouter>({ client: calls, queryClient })
  return createTRPCRecursiveProxy<QueryableClient>(({ path, args }) => {
    const owner: unknown = CALLS.has(path.at(-1)) ? calls : options
    const method = path.reduce((part, name) => (part as Record<string, unknown>)[name], owner)
    return (method as (...args: unknown[]) => unknown)(...args)
  })
}

/**
 * The same query, asked again whenever one of `facts` changes: they become part of its key. Filters of the call match it as
 * before. They stand beside the input, because tRPC reads a key of three parts as one with a prefix.
 */
export function asOf<Options extends { queryKey: readonly unknown[] }>(
  options: Options,
  ...facts: readonly unknown[]
): Options {
  const [path, args] = options.queryKey as readonly [unknown, object]
  return { ...options, queryKey: [path, { ...args, asOf: facts }] }
}
