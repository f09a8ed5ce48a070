import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { RawLogKeeper } from '@chirality/centre'
import { lockProject } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'

function rawLog(project: string, name: string, daysAgo: number): string {
  const folder = path.join(project, '.chirality/logs/claude-code')
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, `20200101T000000000Z-${name}-t.ndjson`)
  writeFileSync(file, 'x'.repeat(1000))
  const at = new Date(Date.now() - daysAgo * 24 * 60 * 60 * 1000)
  utimesSync(file, at, at)
  return file
}

test('disk use by project and kind; a plan deletes nothing, and pruning deletes what was planned and no event', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { id, log } = await sessionWith(server, 50)
  const [old, recent] = [rawLog(server.project, 'old', 40), rawLog(server.project, 'recent', 2)]
  const { rule, projects } = await client.data.use.query()
  expect(rule).toEqual({ keep: 'forever' })
  expect(projects).toMatchObject([{ projectRoot: server.project, name: 'project' }])
  // Besides the two there is the log of the harnesses.
  expect(projects[0]?.bytes.rawLogs).toBeGreaterThanOrEqual(2000)
  expect(projects[0]?.bytes.events).toBeGreaterThan(50 * 200)
  const days = { keep: 'days', days: 30 } as const
  const nothing = await client.data.plan.query({ rule: { keep: 'forever' } })
  expect(nothing).toMatchObject({ logs: 0, bytes: 0, projects: [], from: null, to: null, problems: [] })
  expect(await client.data.plan.query({ rule: days })).toMatchObject({
    ...{ logs: 1, bytes: 1000, inUse: { logs: 0, bytes: 0 } },
    projects: [{ projectRoot: server.project, logs: 1, bytes: 1000 }],
  })
  expect(existsSync(old)).toBe(true)
  const before = log.lastSeq
  expect(await client.data.prune.mutate({ rule: days, project: server.project })).toMatchObject({
    ...{ logs: 1, bytes: 1000, problems: [] },
  })
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true])
  expect((await client.sessions.history.query({ sessionId: id })).at(-1)?.seq).toBe(before)
  for (const rule of [{ keep: 'days', days: 0 }, { keep: 'days' }, { keep: 'size', bytes: 1.5 }, {}])
    await expect(client.data.plan.query({ rule } as never)).rejects.toMatchObject({
      data: { reason: 'invalid-input' },
    })
})

test('a project that is gone, or that another process has, is named, and the others are pruned', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const other = path.join(server.project, '../other')
  mkdirSync(other)
  await client.projects.register.mutate({ path: other })
  const [mine, theirs] = [rawLog(server.project, 'mine', 40), rawLog(other, 'theirs', 40)]
  await server.host.closeProject(other)
  const lock = await lockProject(other, { address: 'somewhere else' })
  const pruned = await client.data.prune.mutate({ rule: { keep: 'size', bytes: 1 } })
  await lock.release()
  expect(pruned).toMatchObject({ logs: 1, problems: [{ projectRoot: other }] })
  expect([existsSync(mine), existsSync(theirs)]).toEqual([false, true])
})

test('the rule of the user is applied to the open projects by itself', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const old = rawLog(server.project, 'old', 40)
  const keeper = new RawLogKeeper({ host: server.host, home: server.home })
  await keeper.apply()
  expect(existsSync(old)).toBe(true)
  await client.data.setRule.mutate({ rule: { keep: 'days', days: 30 } })
  await keeper.apply()
  await keeper.close()
  expect(existsSync(old)).toBe(false)
})
