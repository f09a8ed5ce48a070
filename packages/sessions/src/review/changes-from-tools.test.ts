import path from 'node:path'
import type { Envelope, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { changesFromTools } from './changes-from-tools.ts'

const sessionId = 's'
const toolUseId = 'u'
const START: UIEvent = { type: 'tool:start', sessionId, toolUseId, name: 'Write', input: {} }
const OWN: UIEvent = {
  type: 'tool:input',
  sessionId,
  toolUseId,
  input: { file_path: '/p/asked.txt', content: 'asked\n' },
}
const EDITED: UIEvent = {
  type: 'permission:resolved',
  sessionId,
  requestId: 'r',
  outcome: 'allowed',
  by: 'person',
  toolUseId,
  updatedInput: { file_path: '/p/ran.txt', content: 'ran\n' },
}
const RESULT: UIEvent = { type: 'tool:result', sessionId, toolUseId, content: 'ok', isError: false }

test.each([
  ['before the answer', [START, OWN, EDITED, RESULT]],
  ['after the answer', [START, EDITED, OWN, RESULT]],
])(
  'the changes of an edited call are those of the input that ran; the agent tells its own %s',
  (_when, events) => {
    const all = events.map((event, i): Envelope => {
      return { seq: i + 1, at: '2026-01-01T00:00:00Z', sessionId, turnId: 't', event }
    })
    const log = { lastSeq: all.length, readAfter: (seq: number) => all.slice(seq) }
    const changes = changesFromTools(log as never, 't', '/p')
    expect(changes?.files).toMatchObject([{ path: 'ran.txt', kind: 'added', added: 1 }])
    expect(changes?.patch).toContain('+ran')
  },
)

test('without git the tools tell what a turn changed', () => {
  const { log, append } = emptyLog()
  const result = (detail: unknown) =>
    append({ type: 'tool:result', sessionId, toolUseId: 'c', content: '', isError: false, detail })
  const file = (name: string) => path.join(PROJECT, name)
  result({
    filePath: file('a.txt'),
    structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 2, lines: ['-a', '+b', '+c'] }],
  })
  result({ type: 'create', filePath: file('new.txt'), content: 'one\ntwo\n', structuredPatch: [] })
  result({ filePath: '/etc/passwd', structuredPatch: [] })
  result({ filePath: file('x'), structuredPatch: 'odd' })
  result('odd')
  expect(changesFromTools(log, 't', PROJECT)).toEqual({
    files: [
      { path: 'a.txt', kind: 'changed', added: 2, removed: 1 },
      { path: 'new.txt', kind: 'added', added: 2, removed: 0 },
    ],
    patch: [
      ...['diff --git a/a.txt b/a.txt', '--- a/a.txt', '+++ b/a.txt', '@@ -1,1 +1,2 @@', '-a', '+b', '+c'],
      ...['diff --git a/new.txt b/new.txt', 'new file mode 100644', '--- /dev/null', '+++ b/new.txt'],
      ...['@@ -0,0 +1,2 @@', '+one', '+two', ''],
    ].join('\n'),
    truncated: false,
  })
  expect(changesFromTools(log, 'other', PROJECT)).toBeUndefined()
})

test('without git, a tool that changes several files reports each of them', () => {
  const { log, append } = emptyLog()
  const changed = (...changes: unknown[]) =>
    append({
      type: 'tool:result',
      sessionId,
      toolUseId: 'c',
      content: '',
      isError: false,
      detail: { changes },
    })
  const file = (name: string) => path.join(PROJECT, name)
  changed(
    { path: file('new.txt'), kind: 'add', diff: 'one\ntwo\n' },
    { path: file('empty.txt'), kind: 'add', diff: '' },
    { path: file('old.txt'), kind: 'delete', diff: 'gone\n' },
    { path: file('from.txt'), kind: 'update', movePath: file('to.txt'), diff: '@@ -1 +1,2 @@\n-a\n+b\n+c\n' },
    ...[null, 'odd', { path: 3 }, { path: '/etc/passwd', kind: 'add', diff: 'x' }, { path: PROJECT }],
  )
  changed({ path: file('new.txt'), kind: 'update', diff: '@@ -2 +2 @@ x\n-two\n+three\n' })
  const { files, patch } = changesFromTools(log, 't', PROJECT) ?? {}
  expect(files).toEqual([
    { path: 'new.txt', kind: 'added', added: 3, removed: 1 },
    { path: 'empty.txt', kind: 'added', added: 0, removed: 0 },
    { path: 'old.txt', kind: 'deleted', added: 0, removed: 1 },
    { path: 'to.txt', kind: 'renamed', renamedFrom: 'from.txt', added: 2, removed: 1 },
  ])
  expect(patch).toContain('deleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n')
  expect(patch).toContain(
    'diff --git a/from.txt b/to.txt\nrename from from.txt\nrename to to.txt\n--- a/from.txt\n+++ b/to.txt\n@@ -1,1 +1,2 @@\n-a',
  )
})

const PROJECT = '/home/me/project'

/** A log whose events are all of the turn `t`. */
function emptyLog() {
  const all: Envelope[] = []
  const append = (event: UIEvent) =>
    void all.push({ seq: all.length + 1, at: '2026-01-01T00:00:00Z', sessionId, turnId: 't', event })
  const log = {
    get lastSeq() {
      return all.length
    },
    readAfter: (seq: number) => all.slice(seq),
  }
  return { log, append }
}
