import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Approvals } from './approvals.ts'

let folder = ''
let home = ''
let project = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chirality-approvals-'))
  home = join(folder, 'home')
  project = join(folder, 'project')
  mkdirSync(project)
})
afterEach(() => rmSync(folder, { recursive: true }))

test('exactly the content that was approved is approved, of this subject, in this project', async () => {
  const approvals = new Approvals({ home })
  expect(approvals.isApproved(project, 'persona A', 'text')).toBe(false)
  await approvals.approve(project, 'persona A', 'text')
  expect(approvals.isApproved(project, 'persona A', 'text')).toBe(true)
  expect(approvals.isApproved(project, 'persona A', 'text ')).toBe(false)
  expect(approvals.isApproved(project, 'persona B', 'text')).toBe(false)
  expect(approvals.isApproved(folder, 'persona A', 'text')).toBe(false)
  expect(new Approvals({ home }).isApproved(project, 'persona A', 'text')).toBe(true)
})

test('the last approval counts, a revoked one does not, and none of them touches another', async () => {
  const approvals = new Approvals({ home })
  await Promise.all([
    approvals.approve(project, 'persona A', 'one'),
    approvals.approve(project, 'persona A', 'two'),
    approvals.approve(project, 'persona B', 'three'),
  ])
  expect(approvals.isApproved(project, 'persona A', 'one')).toBe(false)
  expect(approvals.isApproved(project, 'persona A', 'two')).toBe(true)
  await approvals.revoke(project, 'persona A')
  expect(approvals.isApproved(project, 'persona A', 'two')).toBe(false)
  expect(approvals.isApproved(project, 'persona B', 'three')).toBe(true)
})

test('a project is the same by whatever path it is reached, and its file is for the user alone', async () => {
  symlinkSync(project, join(folder, 'link'))
  const approvals = new Approvals({ home })
  await approvals.approve(join(folder, 'link'), 'persona A', 'text')
  expect(approvals.isApproved(project, 'persona A', 'text')).toBe(true)
  const [file = ''] = readdirSync(join(home, 'approvals'))
  expect(statSync(join(home, 'approvals', file)).mode & 0o077).toBe(0)
})

test.each(['', 'no json', '[]', '{"approved":"all"}', '{"approved":{"persona A":true}}'])(
  'a spoilt file approves nothing, and takes the next approval: %j',
  async spoilt => {
    const approvals = new Approvals({ home })
    await approvals.approve(project, 'persona A', 'text')
    const [file = ''] = readdirSync(join(home, 'approvals'))
    writeFileSync(join(home, 'approvals', file), spoilt)
    expect(approvals.isApproved(project, 'persona A', 'text')).toBe(false)
    await approvals.approve(project, 'persona A', 'text')
    expect(approvals.isApproved(project, 'persona A', 'text')).toBe(true)
  },
)

test('a data folder inside the project approves nothing: an agent could write it', async () => {
  const approvals = new Approvals({ home: join(project, 'home') })
  await approvals.approve(project, 'persona A', 'text')
  expect(approvals.isApproved(project, 'persona A', 'text')).toBe(false)
})
