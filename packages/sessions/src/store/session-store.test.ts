import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { NO_COST } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { range } from '../../test/support/events.ts'
import { useProject } from '../../test/support/project.ts'
import { useStore } from '../../test/support/store.ts'
import type { StoredSession } from './stored-session.ts'

const project = useProject()
const stores = useStore()
const file = (session: StoredSession) => project.file('sessions', `${session.id}.json`)

const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
}

describe('create, save, resume', () => {
  test('a new session is a file with the fields of the specification and ours', async () => {
    const session = await stores.open().create(project.root, 'DECOMP', 'workbench', { title: 'First' })
    expect(session.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(JSON.parse(readFileSync(file(session), 'utf8'))).toEqual({
      id: session.id,
      createdAt: '2026-02-07T10:00:01.000Z',
      updatedAt: '2026-02-07T10:00:01.000Z',
      projectRoot: project.root,
      persona: 'DECOMP',
      mode: 'workbench',
      claudeSessionId: null,
      title: 'First',
      harness: null,
      model: null,
      status: 'idle',
      lastTurn: null,
      workedMs: 0,
      leftUnanswered: false,
      turnCount: 0,
      costUsd: 0,
      costIsEstimate: false,
      tokens: 0,
      ledger: NO_COST,
      lastSeq: 0,
      progress: {
        turn: null,
        turnLedger: NO_COST,
        activity: null,
        pending: [],
        error: null,
        lastLine: null,
        todos: [],
        spends: [],
        limits: null,
        usage: NO_USAGE,
        contextTokens: 0,
        driftCount: 0,
        version: null,
        permissionMode: null,
      },
      forkedFrom: null,
      settings: {},
      shelf: null,
      worktree: null,
    })
    expect(statSync(file(session)).mode & 0o777).toBe(0o600)
    expect(statSync(project.file('sessions')).mode & 0o777).toBe(0o700)
  })

  test('another store finds it by its id alone', async () => {
    const session = await stores.open().create(project.root, null, 'direct')
    expect(await stores.open().resume(session.id)).toEqual(session)
  })

  test('without the user\u2019s index it is found in the projects in use', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    rmSync(join(stores.home, 'sessions'), { recursive: true })
    expect(await store.resume(session.id)).toEqual(session)
  })

  test('save takes what a program of the specification has, and keeps the rest', async () => {
    const store = stores.open()
    const { id } = await store.create(project.root, null, 'direct', { title: 'Kept', model: 'm1' })
    const { createdAt, updatedAt, projectRoot, persona, mode } = await store.resume(id)
    await store.save({ id, createdAt, updatedAt, projectRoot, persona, mode, claudeSessionId: 'native-1' })
    expect(await store.resume(id)).toMatchObject({ claudeSessionId: 'native-1', title: 'Kept', model: 'm1' })
    expect((await store.resume(id)).updatedAt > updatedAt).toBe(true)
  })

  test('many changes at once are all made', async () => {
    const store = stores.open()
    const { id } = await store.create(project.root, null, 'direct')
    await Promise.all([
      store.update(id, { turnCount: 1 }),
      store.update(id, { model: 'm1' }),
      store.rename(id, 'Title'),
      store.update(id, { harness: 'codex' }),
    ])
    expect(await store.resume(id)).toMatchObject({
      turnCount: 1,
      model: 'm1',
      title: 'Title',
      harness: 'codex',
    })
    expect(readdirSync(project.file('sessions'))).toEqual([`${id}.json`])
  })

  test('renaming leaves its place in the list', async () => {
    const store = stores.open()
    const old = await store.create(project.root, null, 'direct')
    const recent = await store.create(project.root, null, 'direct')
    expect((await store.rename(old.id, '  A title ')).title).toBe('A title')
    expect((await store.list(project.root)).map(({ id }) => id)).toEqual([recent.id, old.id])
  })

  test('an unknown session is an error that says so', async () => {
    const store = stores.open()
    await expect(store.resume('nobody')).rejects.toMatchObject({ code: 'not-found' })
    await expect(store.rename('nobody', 'x')).rejects.toMatchObject({ code: 'not-found' })
    expect(await store.get('nobody')).toBeUndefined()
    await expect(store.delete('nobody')).resolves.toBeUndefined()
  })

  test.each(['../../etc/passwd', '', 'a b', `${'x'.repeat(65)}`])('the id %j is refused', async id => {
    const store = stores.open()
    await expect(store.get(id)).rejects.toMatchObject({ code: 'invalid-id' })
    await expect(store.delete(id)).rejects.toMatchObject({ code: 'invalid-id' })
  })

  test('a project that does not exist is refused', async () => {
    await expect(stores.open().create(`${project.root}/no`, null, 'direct')).rejects.toMatchObject({
      code: 'project-missing',
    })
  })
})

describe('listing', () => {
  test('lists the newest sessions first, in pages', async () => {
    const store = stores.open()
    const ids: string[] = []
    for (const _ of range(1, 7)) ids.unshift((await store.create(project.root, null, 'direct')).id)
    const pages: string[][] = []
    let cursor: string | undefined
    do {
      const page = await store.page({ projectRoot: project.root, limit: 3, cursor })
      pages.push(page.sessions.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(pages).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
  })

  test('a session that is saved moves to the front', async () => {
    const store = stores.open()
    const first = await store.create(project.root, null, 'direct')
    const second = await store.create(project.root, null, 'direct')
    expect((await store.list(project.root)).map(({ id }) => id)).toEqual([second.id, first.id])
    await store.save(first)
    expect((await store.list(project.root)).map(({ id }) => id)).toEqual([first.id, second.id])
  })

  test('changes by another process are seen', async () => {
    const store = stores.open()
    const gone = await store.create(project.root, null, 'direct')
    const kept = await store.create(project.root, null, 'direct')
    await store.list(project.root)
    rmSync(file(gone))
    const other = stores.open({ now: () => new Date('2027-01-01') })
    const added = await other.create(project.root, null, 'direct')
    await other.rename(kept.id, 'Other title')
    const listed = await store.list(project.root)
    // The file of the first is deleted and it has no log, but the user's index still has it until it is deleted.
    expect(listed.map(({ id, title }) => [id, title])).toEqual([
      [added.id, null],
      [kept.id, 'Other title'],
    ])
  })

  test('all projects of the user, and those that are gone do not matter', async () => {
    const store = stores.open()
    const roots = ['a', 'b', 'c'].map(name => join(project.root, name))
    const ids: string[] = []
    for (const root of roots) {
      mkdirSync(root)
      ids.unshift((await store.create(root, null, 'direct')).id)
    }
    rmSync(join(project.root, 'b'), { recursive: true })
    expect((await stores.open().list()).map(({ id }) => id)).toEqual([ids[0], ids[2]])
    const first = await stores.open().page({ limit: 1 })
    const next = await stores.open().page({ limit: 1, cursor: first.nextCursor })
    expect([first, next].map(({ sessions }) => sessions[0]?.id)).toEqual([ids[0], ids[2]])
    expect(next.nextCursor).toBeUndefined()
  })

  test('a copied project, whose files all have the time of the copy, is in order', async () => {
    const store = stores.open()
    const ids: string[] = []
    for (const _ of range(1, 5)) ids.unshift((await store.create(project.root, null, 'direct')).id)
    for (const name of readdirSync(project.file('sessions'))) {
      utimesSync(project.file('sessions', name), new Date(), new Date())
    }
    const page = await stores.open().page({ projectRoot: project.root, limit: 2 })
    expect(page.sessions.map(({ id }) => id)).toEqual(ids.slice(0, 2))
  })

  test('a project that was moved has its sessions, under its new path', async () => {
    const store = stores.open()
    mkdirSync(join(project.root, 'old'))
    const session = await store.create(join(project.root, 'old'), null, 'direct')
    renameSync(join(project.root, 'old'), join(project.root, 'new'))
    const moved = await stores.open().list(join(project.root, 'new'))
    expect(moved).toEqual([{ ...session, projectRoot: join(project.root, 'new') }])
  })

  test('an empty project has none, and is not touched', async () => {
    expect(await stores.open().list(project.root)).toEqual([])
    expect(readdirSync(project.root)).toEqual([])
  })

  test('a cursor that is none is refused', async () => {
    await expect(stores.open().page({ cursor: '../x' })).rejects.toMatchObject({ code: 'invalid-id' })
  })
})

describe('sessions at work', () => {
  test('are found by their files, whatever their texts say, and an idle session is not parsed', async () => {
    const store = stores.open()
    const idle = await store.create(project.root, null, 'direct', { title: '\n  "status": "running"' })
    const running = await store.create(project.root, null, 'direct', { title: '\n  "status": "idle"' })
    await store.update(running.id, { status: 'running' })
    // It would be set aside if it was parsed.
    appendFileSync(file(idle), 'not JSON')
    expect(await stores.open().atWork(project.root)).toEqual([running.id])
    expect(readdirSync(project.file('sessions')).sort()).toEqual(
      [idle, running].map(({ id }) => `${id}.json`).sort(),
    )
  })

  test('a file that is no session is set aside', async () => {
    const session = await stores.open().create(project.root, null, 'direct')
    writeFileSync(file(session), '{')
    expect(await stores.open().atWork(project.root)).toEqual([])
    expect(readdirSync(project.file('sessions')).join()).toContain('.corrupt-')
  })

  test('an empty project has none', async () => {
    expect(await stores.open().atWork(project.root)).toEqual([])
  })
})

describe('the user\u2019s index', () => {
  test('is for its owner only', async () => {
    await stores.open({ home: join(stores.home, 'deep/er') }).create(project.root, null, 'direct')
    const mode = (path: string) => statSync(join(stores.home, 'deep/er', path)).mode & 0o777
    expect([mode('.'), mode('sessions'), mode('projects')]).toEqual([0o700, 0o700, 0o700])
  })

  test('a copy of a project elsewhere is another project', async () => {
    const store = stores.open()
    mkdirSync(join(project.root, 'a'))
    const session = await store.create(join(project.root, 'a'), null, 'direct')
    cpSync(join(project.root, 'a'), join(project.root, 'b'), { recursive: true })
    chmodSync(join(project.root, 'b/.chirality'), 0o700)
    expect(await store.list(join(project.root, 'b'))).toMatchObject([
      { projectRoot: join(project.root, 'b') },
    ])
    expect((await store.resume(session.id)).projectRoot).toBe(join(project.root, 'a'))
  })
})
