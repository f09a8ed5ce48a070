import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, ServerRefusedError } from '../src/index.ts'
import { startTestServer } from './support/test-server.ts'

async function refusal(call: Promise<unknown>): Promise<ServerRefusedError> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (error instanceof ServerRefusedError) return error
  throw new Error(`not refused: ${error}`)
}

test('queries and mutations, with and without input, are answered', async () => {
  const server = await startTestServer()
  const client = createClient(server)
  expect((await client.projects.list.query()).map(({ root }) => root)).toEqual([server.project])
  const { id } = await client.sessions.create.mutate({ project: server.project, title: 'Ünïcode & more' })
  expect(await client.sessions.get.query({ sessionId: id })).toMatchObject({ title: 'Ünïcode & more' })
  expect(await client.system.newSignInLink.mutate()).toMatchObject({ reach: 'this-machine' })
})

test('a refusal has the code and the words of the server', async () => {
  const server = await startTestServer()
  const sessionId = '00000000-0000-4000-8000-000000000000'
  const unknown = await refusal(createClient(server).sessions.get.query({ sessionId }))
  expect(unknown).toMatchObject({ name: 'ServerRefusedError', code: 'not-found' })
  expect(unknown.message).toContain(sessionId)
  const stranger = createClient({ url: server.url, token: 'x'.repeat(43) })
  const refused = await refusal(stranger.system.info.query())
  expect(refused.code).not.toBe('unreachable')
})

test('a server that has stopped, and another program at its port, are unreachable', async () => {
  const server = await startTestServer()
  await server.close()
  const gone = await refusal(createClient({ ...server, pid: 4711 }).system.info.query())
  expect(gone.code).toBe('unreachable')
  expect(gone.message).toMatch(
    new RegExp(
      `^The server at ${server.url} \\(process 4711\\) does not answer: .+\\. Try again, or stop it\\.$`,
    ),
  )
  const other = createServer((_request, response) => response.writeHead(404).end('nothing here'))
  onTestFinished(() => void other.close())
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port } = other.address() as AddressInfo
  const strange = await refusal(
    createClient({ url: `http://127.0.0.1:${port}`, token: 't' }).system.info.query(),
  )
  expect(strange).toMatchObject({ code: 'unreachable', message: expect.stringContaining('it said 404') })
})
