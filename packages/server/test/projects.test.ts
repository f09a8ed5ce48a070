import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { expect, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

test('folders are registered, opened and forgotten', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const other = path.join(server.project, '..', 'other')
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
  ['relative/path-that-is-not-in-the-home-folder', 'project-missing'],
  ['~/folder-that-is-not-there', 'project-missing'],
  ['/', 'project-too-wide'],
  ['/no/such/folder', 'project-missing'],
  ['/dev/null', 'project-not-a-directory'],
  ['/dev', 'project-reserved'],
  ...(process.platform === 'linux'
    ? [
        ['/proc', 'project-reserved'],
        ['/proc/self/fd', 'project-reserved'],
        ['/sys/kernel', 'project-reserved'],
      ]
    : []),
])('%s is no project: %s', async (folder, reason) => {
  const { client } = connect(await startTestServer())
  const error = await client.projects.register.mutate({ path: folder }).catch((cause: unknown) => cause)
  expect(error).toMatchObject({ data: { reason } })
})

test('neither the data folder nor a folder of git is a project, nor what is in them', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const git = path.join(server.project, '.git')
  mkdirSync(git)
  const servers = path.join(server.home, 'servers')
  for (const folder of [server.home, servers, git, path.join(git, 'hooks')]) {
    mkdirSync(folder, { recursive: true })
    const error = await client.projects.register.mutate({ path: folder }).catch((cause: unknown) => cause)
    expect(error).toMatchObject({ data: { reason: 'project-reserved' } })
  }
})

test('the agent files of a project are shown, agreed to by what was shown, and refused when they changed', async () => {
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new ClaudeCodeHarness({ environment: {} }))
  const server = await startTestServer({ harnesses })
  const { client } = connect(server)
  const { project } = server
  const file = path.join(project, '.mcp.json')
  writeFileSync(file, '{"mcpServers":{}}')
  const shown = await client.trust.get.query({ project })
  expect(shown).toMatchObject({
    isTrusted: false,
    files: [{ path: '.mcp.json', bytes: 17, text: '{"mcpServers":{}}' }],
  })
  const agreed = { project, fingerprint: shown.fingerprint }
  writeFileSync(file, '{"mcpServers":{"x":{}}}')
  const error = await client.trust.allow.mutate(agreed).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ data: { code: 'CONFLICT', reason: 'changed' } })
  writeFileSync(file, '{"mcpServers":{}}')
  expect(await client.trust.allow.mutate(agreed)).toMatchObject({ isTrusted: true })
  expect(await client.trust.revoke.mutate({ project })).toMatchObject({ isTrusted: false })

  const url = `/api/harness/trust?projectRoot=${encodeURIComponent(project)}`
  const { fingerprint } = (await (await server.fetch(url)).json()) as { fingerprint: string }
  const post = (print: string) =>
    server.post('/api/harness/trust', { projectRoot: project, fingerprint: print })
  expect((await post('0'.repeat(64))).status).toBe(409)
  expect(await (await post(fingerprint)).json()).toMatchObject({ isTrusted: true })
  expect(await (await server.fetch(url, { method: 'DELETE' })).json()).toMatchObject({ isTrusted: false })
  expect((await server.fetch('/api/harness/trust?projectRoot=/tmp')).status).toBe(403)
})

test('a fault of the server is in harness.log of its projects, with its stack and without its secrets', async () => {
  class BrokenHarness extends ClaudeCodeHarness {
    override capabilities(): never {
      throw new Error('No wheel on the wagon, MYSQL_PWD=hunter2hunter2')
    }
  }
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new BrokenHarness())
  const server = await startTestServer({ harnesses })
  const { client } = connect(server)
  await expect(client.harnesses.list.query()).rejects.toThrow()
  expect(server.faults).toHaveLength(1)
  const lines = readFileSync(path.join(server.project, '.chirality', 'logs', 'harness.log'), 'utf8').trim()
  const rows = lines.split('\n').map(line => JSON.parse(line) as Record<string, unknown>)
  expect(rows.filter(({ level }) => level === 'error')).toMatchObject([
    {
      event: 'error',
      sessionId: '',
      data: {
        message: 'No wheel on the wagon, MYSQL_PWD=[redacted]',
        stack: expect.stringContaining('BrokenHarness.capabilities'),
      },
    },
  ])
})
