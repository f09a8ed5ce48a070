import type { AppRouter, Client } from '@chirality/client'
import { withQueries } from '@chirality/client/queries'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { type ReactNode, useState } from 'react'
import { ServerContext } from '../../src/state/server/use-client.ts'

/** Answers of calls by their path: a promise is waited for, an error that is thrown is the server's refusal. */
export type CannedAnswers = Readonly<Record<string, (input: never) => unknown>>

/** The real client, with answers from memory in the place of a connection. A call without an answer stays open. */
export function cannedClient(answers: CannedAnswers): Client {
  const link: TRPCLink<AppRouter> =
    () =>
    ({ op }) =>
      observable(observer => {
        const answer = answers[op.path]
        if (answer === undefined) return
        const answered = async () => answer(op.input as never)
        answered().then(
          data => {
            observer.next({ result: { type: 'data', data } })
            observer.complete()
          },
          error => observer.error(error),
        )
      })
  return createTRPCClient<AppRouter>({ links: [link] })
}

/** What a component needs around it to call such a server. */
export function CannedServer({ answers, children }: { answers: CannedAnswers; children: ReactNode }) {
  const [{ queries, server }] = useState(() => {
    const queries = new QueryClient()
    const calls = cannedClient(answers)
    return { queries, server: { client: withQueries(calls, queries), connection: offline(calls) } }
  })
  return (
    <QueryClientProvider client={queries}>
      <ServerContext value={server}>{children}</ServerContext>
    </QueryClientProvider>
  )
}

function offline(calls: Client) {
  const stay = () => () => {}
  return {
    live: { calls, watchConnection: stay, followSession: stay, close: async () => {} },
    download: () => Promise.reject(new Error('There is no server to download from.')),
  }
}
