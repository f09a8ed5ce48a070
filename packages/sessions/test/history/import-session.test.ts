import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { ImportedSession } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { exportSession } from '../../src/history/export/export-session.ts'
import {
  findByNativeId,
  importExport,
  importNative,
  parseExport,
} from '../../src/history/import/import-session.ts'
import { readSessionLog } from '../../src/log/read-log.ts'
import { useProject } from '../support/project.ts'
import { appendTurn, useStore } from '../support/store.ts'

const project = useProject()
const stores = useStore()

async function exported(id: string): Promise<string> {
  let text = ''
  for await (const part of exportSession(project.root, id, { format: 'json', home: stores.home }))
    text += part
  return text
}

async function events(id: string) {
  const log = await readSessionLog(project.root, id)
  const found = log?.readAfter(0, 100).map(({ at, turnId, event }) => ({ at, turnId, type: event.type }))
  log?.close()
  return found
}

describe('an export of ours', () => {
  test('is imported unchanged', async () => {
    const store = stores.open()
    const session = await store.create(project.root, 'DECOMP', 'workbench', { title: 'A title' })
    await appendTurn(session, 'Hello')
    await store.update(session.id, { claudeSessionId: 'native-1' })
    const text = await exported(session.id)
    const before = await events(session.id)
    await store.delete(session.id)
    const back = await importExport(store, parseExport(text, project.root))
    expect(back).toMatchObject({
      id: session.id,
      title: 'A title',
      persona: 'DECOMP',
      mode: 'workbench',
      claudeSessionId: 'native-1',
      turnCount: 1,
      costUsd: 0.3,
      lastSeq: 5,
    })
    expect(await events(back.id)).toEqual(before)
  })

  test('is a fork where the session is still there', async () => {
    const store = stores.open()
    const session = await store.create(project.root, null, 'direct')
    await appendTurn(session, 'Hello')
    await store.update(session.id, { claudeSessionId: 'native-1' })
    const copy = await importExport(store, parseExport(await exported(session.id), project.root))
    expect(copy.id).not.toBe(session.id)
    expect(copy).toMatchObject({
      claudeSessionId: null,
      forkedFrom: { sessionId: session.id, seq: 5, claudeSessionId: 'native-1' },
    })
    expect(await store.list(project.root)).toHaveLength(2)
  })

  const GOOD = {
    session: {
      id: 'a',
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
      projectRoot: '/elsewhere',
      persona: null,
      mode: 'direct',
      claudeSessionId: null,
    },
    envelopes: [
      {
        seq: 7,
        at: '2026-01-01T00:00:00Z',
        sessionId: 'b',
        turnId: null,
        event: { type: 'turn:start', sessionId: 'c', message: 'x' },
      },
    ],
  }
  const [envelope] = GOOD.envelopes

  test('belongs to the project it is imported into, under its own numbers', async () => {
    const session = await importExport(stores.open(), parseExport(JSON.stringify(GOOD), project.root))
    expect(session).toMatchObject({ id: 'a', projectRoot: project.root, title: 'x' })
    expect(await events('a')).toMatchObject([
      { at: '2026-01-01T00:00:00.000Z', type: 'turn:start' },
      { type: 'turn:end' },
    ])
  })

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['no session', JSON.stringify({ envelopes: [] })],
    ['no envelopes', JSON.stringify({ session: GOOD.session })],
    ['an id that leads elsewhere', JSON.stringify({ ...GOOD, session: { ...GOOD.session, id: '../x' } })],
    ['a mode that is none', JSON.stringify({ ...GOOD, session: { ...GOOD.session, mode: 'x' } })],
  ])('%s is refused', (_what, text) => {
    expect(() => parseExport(text, project.root)).toThrow('This file is not an export of a session.')
  })

  test.each([
    ['null', null],
    ['a number that is none', { ...envelope, seq: 'x' }],
    ['a time that would write itself into the log', { ...envelope, at: '2026-01-01","seq":9,"x":"' }],
    ['an event without a type', { ...envelope, event: {} }],
  ])('an envelope that is %s is refused', (_what, bad) => {
    const text = JSON.stringify({ ...GOOD, envelopes: [envelope, bad] })
    expect(() => parseExport(text, project.root)).toThrow('Event 2 of this export is not a valid event.')
  })
})

describe('a conversation of an agent', () => {
  const AT = '2025-01-01T00:00:00.000Z'
  interface Native {
    harness?: string
    projectRoot?: string
    nativeId?: string
  }
  const native = (
    id: string,
    { harness = 'acp-one', projectRoot = project.root, nativeId = 'native-9' }: Native = {},
  ): ImportedSession => ({
    session: {
      id,
      createdAt: AT,
      updatedAt: '2025-01-02T00:00:00.000Z',
      projectRoot,
      persona: null,
      mode: 'direct',
      claudeSessionId: nativeId,
    },
    envelopes: [
      {
        seq: 1,
        at: AT,
        sessionId: id,
        turnId: null,
        event: {
          type: 'session:init',
          sessionId: id,
          claudeSessionId: nativeId,
          model: 'm',
          tools: [],
          harness,
          cwd: projectRoot,
        },
      },
    ],
  })

  test('is taken once, and refused with the name of the session that it is', async () => {
    const store = stores.open()
    const first = await importNative(store, native('one'))
    expect(
      await findByNativeId(store, {
        nativeSessionId: 'native-9',
        harness: 'acp-one',
        projectRoot: project.root,
      }),
    ).toMatchObject({ id: first.id })
    await expect(importNative(store, native('two'))).rejects.toMatchObject({
      code: 'import-already-imported',
      sessionId: 'one',
      message: 'The conversation native-9 is already here, as session one.',
    })
    expect(await store.list(project.root)).toHaveLength(1)
  })

  test('with the same id of another agent, or in another project, is another one', async () => {
    const store = stores.open()
    const projectRoot = path.join(project.root, 'other')
    mkdirSync(projectRoot)
    await importNative(store, native('one'))
    await importNative(store, native('two', { harness: 'acp-two' }))
    await importNative(store, native('three', { projectRoot }))
    expect(await store.list()).toHaveLength(3)
  })

  test('is the same for every harness that can continue it, and a UUID is the same everywhere', async () => {
    const store = stores.open()
    const projectRoot = path.join(project.root, 'other')
    mkdirSync(projectRoot)
    const nativeId = '8c6f0a5e-0000-4000-8000-000000000001'
    await importNative(store, native('one', { harness: 'claude-code', nativeId }))
    for (const harness of ['claude-code', 'agent-sdk', 'acp-claude'])
      await expect(importNative(store, native('two', { harness, nativeId, projectRoot }))).rejects.toThrow(
        'is already here, as session one',
      )
    expect(await store.list()).toHaveLength(1)
  })
})
