import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

test('folders are registered, opened and forgotten', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const other = path.join(server.home, 'other')
  mkdirSync(other)
  await client.projects.register.mutate({ path: other, name: 'Other' })
  expect(await client.projects.list.query()).toMatchObject([
    { root: server.project, open: true, missing: false },
    { root: other, name: 'Other', open: false, missing: false },
  ])
  await client.projects.open.mutate({ project: other })
  expect((await client.projects.list.query())[1]).toMatchObject({ root: other, open: true })
  await client.projects.remove.mutate({ project: other })
  const error = await client.sessions.create.mutate({ project: other }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ data: { code: 'FORBIDDEN', reason: 'project-not-registered' } })
})

test.each(['gone', 'a file now'])(
  'a project whose folder is %s is told, and can be forgotten',
  async what => {
    const server = await startTestServer()
    const { client } = connect(server)
    const { project } = server
    rmSync(project, { recursive: true })
    if (what !== 'gone') writeFileSync(project, '')
    expect(await client.projects.list.query()).toMatchObject([{ root: project, missing: true, open: false }])
    const error = await client.sessions.create.mutate({ project }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ data: { reason: expect.stringMatching(/^project-/) } })
    await client.projects.remove.mutate({ project })
    expect(await client.projects.list.query()).toEqual([])
    expect(server.faults).toEqual([])
  },
)

test.each([
  ['relative/path', 'project-not-absolute'],
  ['/', 'project-too-wide'],
  ['/no/such/folder', 'project-missing'],
  ['/dev/null', 'project-not-a-directory'],
])('%s is no project: %s', async (folder, reason) => {
  const { client } = connect(await startTestServer())
  const error = await client.projects.register.mutate({ path: folder }).catch((cause: unknown) => cause)
  expect(error).toMatchObject({ data: { reason } })
})
