import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClaudeCodeHarness } from '../../src/claude-code/harness.ts'
import { importClaudeSession } from '../../src/claude-code/native-sessions/import.ts'
import { CodexHarness } from '../../src/codex/harness.ts'
import { folded, told } from './support.ts'

const ID = '11111111-2222-4333-8444-555555555555'
let home = ''
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-native-')))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** Neither needs its agent: files are all they read. */
function harnesses() {
  const environment = { HOME: home, TMPDIR: home }
  const binaryPath = path.join(home, 'none')
  return {
    claude: new ClaudeCodeHarness({ environment, binaryPath }),
    codex: new CodexHarness({ environment, binaryPath, voice: 'exec' }),
  }
}

function claudeFile(): string {
  return put('.claude', 'projects', '-p', `${ID}.jsonl`)
}

function codexFile(id = ID): string {
  return put('.codex', 'sessions', '2026', '01', '01', `rollout-2026-01-01T00-00-00-${id}.jsonl`)
}

function put(...parts: string[]): string {
  const file = path.join(home, ...parts)
  mkdirSync(path.dirname(file), { recursive: true })
  return file
}

function lines(...values: unknown[]): string {
  return values.map(value => `${JSON.stringify(value)}\n`).join('')
}

const ASKED = { type: 'user', uuid: 'a', parentUuid: null, cwd: '/p', message: { content: 'Hi' } }
const META = { ordinal: 0, type: 'session_meta', payload: { id: ID, cwd: '/p', source: 'cli' } }
const STARTED = { ordinal: 1, type: 'event_msg', payload: { type: 'task_started', turn_id: 't' } }
const SAID = {
  ordinal: 2,
  type: 'event_msg',
  payload: { type: 'item_completed', turn_id: 't', item: { type: 'UserMessage', content: [{ text: 'Hi' }] } },
}

test('no folder at all is no conversation', async () => {
  const { claude, codex } = harnesses()
  expect([await claude.listNativeSessions(), await codex.listNativeSessions()]).toEqual([[], []])
  for (const harness of [claude, codex]) {
    await expect(harness.importSession(ID)).rejects.toMatchObject({ code: 'session_not_found' })
  }
})

test.each(['../../etc/passwd', '', 'x', `${ID}/..`, `${ID}\0`])('the id %j is refused', async id => {
  const { claude, codex } = harnesses()
  for (const harness of [claude, codex]) {
    await expect(harness.importSession(id)).rejects.toMatchObject({ code: 'invalid_query' })
  }
})

describe('a file with', () => {
  test.each([
    ['nothing', ''],
    ['no JSON', 'garbage\n\0\xff{'],
    ['other JSON', lines(null, 1, 'x', [], {}, { type: 'user' })],
  ])('%s is not listed and not found', async (_what, text) => {
    for (const file of [claudeFile(), codexFile()]) writeFileSync(file, text)
    const { claude, codex } = harnesses()
    expect([await claude.listNativeSessions(), await codex.listNativeSessions()]).toEqual([[], []])
    for (const harness of [claude, codex]) {
      await expect(harness.importSession(ID)).rejects.toMatchObject({ code: 'session_not_found' })
    }
  })

  test('a broken line is skipped, and the loss is marked', async () => {
    writeFileSync(claudeFile(), `${lines(ASKED)}{"half":\n${lines({ ...ASKED, uuid: 'b', parentUuid: 'a' })}`)
    writeFileSync(codexFile(), `${lines(META, STARTED)}{"half":\n${lines(SAID)}`)
    const { claude, codex } = harnesses()
    expect(told(folded(await claude.importSession(ID)))).toEqual([
      expect.stringMatching(/^gap of 1/),
      '> Hi',
      '> Hi',
    ])
    expect(told(folded(await codex.importSession(ID)))[0]).toMatch(/^gap of 1/)
  })

  test('more than can be read keeps its end', async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({
      ...ASKED,
      uuid: `u${i}`,
      parentUuid: i ? `u${i - 1}` : null,
    }))
    writeFileSync(claudeFile(), lines(...many))
    const imported = await importClaudeSession(ID, { environment: { HOME: home }, maxBytes: 1000 })
    const items = told(folded(imported))
    expect(items[0]).toMatch(/beginning is left out/)
    expect(items.length).toBeGreaterThan(2)
    expect(items.length).toBeLessThan(100)
    expect(imported.envelopes.at(-1)?.turnId).toBe('u99')
  })
})

test('a pipe and a folder with the name of a conversation are passed over', async () => {
  execFileSync('mkfifo', [claudeFile()])
  mkdirSync(codexFile(), { recursive: true })
  const { claude, codex } = harnesses()
  expect([await claude.listNativeSessions(), await codex.listNativeSessions()]).toEqual([[], []])
})

test('threads that are forks of each other, or of one that is gone, end', async () => {
  const other = ID.replace(/^1/, '2')
  const fork = (id: string, of: string) => ({
    ...META,
    payload: { ...META.payload, id, history_base: { thread_id: of, end_ordinal_exclusive: 9 } },
  })
  writeFileSync(codexFile(), lines(fork(ID, other), STARTED, SAID))
  writeFileSync(codexFile(other), lines(fork(other, ID), STARTED, SAID))
  const { codex } = harnesses()
  expect((await codex.importSession(ID)).envelopes.length).toBeGreaterThan(0)
  rmSync(codexFile(other))
  expect(told(folded(await codex.importSession(ID)))).toEqual([
    expect.stringMatching(/^gap of 1/),
    '> Hi',
    'interrupted: Interrupted by the user',
  ])
})

test('a folder lists its own conversations, also beside one whose name becomes the same', async () => {
  writeFileSync(put('.claude', 'projects', '-p-q', `${ID}.jsonl`), lines({ ...ASKED, cwd: '/p-q' }))
  const { claude } = harnesses()
  expect(await claude.listNativeSessions({ cwd: '/p-q' })).toHaveLength(1)
  expect(await claude.listNativeSessions({ cwd: '/p/q' })).toEqual([])
})

test('the newest come first, and no more than asked for', async () => {
  for (const n of [1, 2, 3]) {
    const file = put('.claude', 'projects', '-p', `${ID.replace(/^1/, String(n))}.jsonl`)
    writeFileSync(file, lines({ ...ASKED, message: { content: `Message ${n}` } }))
    execFileSync('touch', ['-t', `20260101010${n}`, file])
  }
  const sessions = await harnesses().claude.listNativeSessions({ limit: 2 })
  expect(sessions.map(({ title }) => title)).toEqual(['Message 3', 'Message 2'])
})

test('a title that was given wins over the first message', async () => {
  writeFileSync(claudeFile(), lines(ASKED, { type: 'custom-title', customTitle: 'Mine' }))
  expect(await harnesses().claude.listNativeSessions()).toMatchObject([{ title: 'Mine' }])
  writeFileSync(codexFile(), lines(META, STARTED, SAID))
  writeFileSync(
    put('.codex', 'session_index.jsonl'),
    lines({ id: ID, thread_name: 'Old' }, { id: ID, thread_name: 'Mine' }),
  )
  expect(await harnesses().codex.listNativeSessions()).toMatchObject([{ title: 'Mine' }])
})

test('nothing that could be in a file makes it throw', async () => {
  const key = fc.constantFrom(
    'uuid',
    'parentUuid',
    'message',
    'content',
    'payload',
    'item',
    'id',
    'text',
    'history_base',
  )
  const word = fc.constantFrom(
    'a',
    'b',
    ID,
    'user',
    'assistant',
    'tool_use',
    'tool_result',
    'UserMessage',
    '',
  )
  const kind = fc.constantFrom(
    'user',
    'assistant',
    'system',
    'attachment',
    'event_msg',
    'response_item',
    'session_meta',
  )
  const event = fc.constantFrom(
    'task_started',
    'item_completed',
    'task_complete',
    'user_message',
    'function_call_output',
  )
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.integer(),
      fc.constant(null),
      tie('object'),
      fc.array(tie('value')),
    ),
    object: fc.dictionary(key, tie('value')),
  }))
  const line = fc.record({
    type: kind,
    uuid: word,
    parentUuid: word,
    cwd: fc.constant('/p'),
    message: value,
    payload: value,
  })
  const payload = fc.record({ type: event, turn_id: word, item: value, output: value, error: value })
  const either = fc.oneof(line, fc.record({ type: kind, payload }), value)
  await fc.assert(
    fc.asyncProperty(fc.array(either, { maxLength: 20 }), async values => {
      writeFileSync(claudeFile(), lines({ ...ASKED, uuid: 'x' }, ...values))
      writeFileSync(codexFile(), lines(META, STARTED, ...values))
      const { claude, codex } = harnesses()
      await claude.listNativeSessions()
      await codex.listNativeSessions()
      for (const harness of [claude, codex]) {
        const state = folded(await harness.importSession(ID))
        expect(state.phase).toBe('idle')
      }
    }),
    { numRuns: 200 },
  )
})
