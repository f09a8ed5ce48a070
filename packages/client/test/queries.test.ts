import { QueryClient } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { createClient } from '../src/index.ts'
import { asOf, withQueries } from '../src/queries.ts'
import { startTestServer } from './support/test-server.ts'

test('one client has the calls, their options, and the keys by which they are asked again', async () => {
  const server = await startTestServer()
  const queries = new QueryClient()
  const client = withQueries(createClient(server), queries)
  const { id } = await client.sessions.create.mutate({ project: server.project, title: 'Before' })
  const options = client.sessions.get.queryOptions({ sessionId: id })
  expect(await queries.fetchQuery(options)).toMatchObject({ title: 'Before' })
  await client.sessions.rename.mutate({ sessionId: id, title: 'After' })
  expect(queries.getQueryData(client.sessions.get.queryKey({ sessionId: id }))).toMatchObject({
    title: 'Before',
  })
  await queries.invalidateQueries(client.sessions.get.queryFilter())
  expect(await queries.fetchQuery(options)).toMatchObject({ title: 'After' })
})

test('a query of a fact is asked again when the fact changes, and found by the filter of its call', async () => {
  const server = await startTestServer()
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  const client = withQueries(createClient(server), queries)
  const { id } = await client.sessions.create.mutate({ project: server.project, title: 'Before' })
  const titleAsOf = async (version: number) =>
    (await queries.fetchQuery(asOf(client.sessions.get.queryOptions({ sessionId: id }), version))).title
  expect(await titleAsOf(1)).toBe('Before')
  await client.sessions.rename.mutate({ sessionId: id, title: 'After' })
  expect(await titleAsOf(1)).toBe('Before')
  expect(await titleAsOf(2)).toBe('After')
  const found = queries.getQueryCache().findAll(client.sessions.get.queryFilter({ sessionId: id }))
  expect(found).toHaveLength(2)
})
