import type { CallRisk } from '@chirality/core'
import { expect, test } from 'vitest'
import { aStatus } from '../../../test/support/statuses.ts'
import { groupOf, groupSessions, isNews, matches, sessionBeside, statusLine, toneOf } from './groups.logic.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const RISKS: CallRisk[] = [{ kind: 'delete', part: 'rm', words: 'Deletes.' }]
const request = {
  type: 'permission:request',
  sessionId: 's',
  requestId: 'r',
  kind: 'tool',
  toolName: 'Bash',
  input: { command: 'npm test' },
  raw: null,
} as const

test.each([
  ['a request waits', { phase: 'waiting', pending: [request] }, 'Needs you', 'need', 'wants to run npm test'],
  [
    'a queue is held',
    { queueHeld: true, queue: [{ id: 'q', message: 'm' }] },
    'Needs you',
    'need',
    'queued messages wait, go on?',
  ],
  ['it works', { phase: 'running', lastLine: 'editing a.ts' }, 'Working', 'work', 'editing a.ts'],
  [
    'it says something in Markdown',
    { phase: 'running', lastLine: '## Mended: `a_b.ts` is **right** now' },
    'Working',
    'work',
    'Mended: a_b.ts is right now',
  ],
  ['it ends', { phase: 'ending' }, 'Working', 'work', 'ending'],
  ['it is new', { lastTurn: null }, 'At rest', 'quiet', 'not started'],
  ['it was stopped', { lastTurn: 'interrupted' }, 'At rest', 'quiet', 'stopped · 12 min ago'],
  ['it is through', { lastTurn: 'completed', lastLine: null }, 'Done', 'ok', 'done · 12 min ago'],
  [
    'it went on without an answer',
    { lastTurn: 'completed', leftUnanswered: true, lastLine: 'All is done.' },
    'Needs you',
    'need',
    'went on without your answer · 12 min ago',
  ],
  [
    'it stopped with its host while it waited for an answer',
    { lastTurn: 'crashed', leftUnanswered: true },
    'Needs you',
    'need',
    'stopped without your answer · 12 min ago',
  ],
  ['it was ended by force', { lastTurn: 'killed' }, 'Stopped', 'bad', 'ended by force · 12 min ago'],
  [
    'a dangerous request waits behind another',
    {
      phase: 'waiting',
      pending: [request, { ...request, requestId: 'r2', risks: RISKS }],
    },
    'Needs you',
    'need',
    'asks for what can delete files',
  ],
  ['it failed', { lastTurn: 'failed' }, 'Stopped', 'bad', 'failed · 12 min ago'],
] as const)('%s', (_name, fields, group, tone, line) => {
  const status = aStatus({
    updatedAt: '2026-01-01T11:48:00Z',
    ...fields,
    pending: [...('pending' in fields ? fields.pending : [])],
    queue: [...('queue' in fields ? fields.queue : [])],
  })
  expect([groupOf(status), toneOf(status), statusLine(status, NOW)]).toEqual([group, tone, line])
})

test('groups come in the order of what matters, the newest first, and without empty ones', () => {
  const groups = groupSessions([
    aStatus({ sessionId: 'old', lastTurn: 'completed', updatedAt: '2026-01-01T01:00:00Z' }),
    aStatus({ sessionId: 'new', lastTurn: 'completed', updatedAt: '2026-01-01T02:00:00Z' }),
    aStatus({ sessionId: 'busy', phase: 'running' }),
  ])
  expect(groups.map(({ name, sessions }) => [name, sessions.map(({ sessionId }) => sessionId)])).toEqual([
    ['Working', ['busy']],
    ['Done', ['new', 'old']],
  ])
})

test('news is what came to rest since somebody looked', () => {
  const rested = aStatus({ lastTurn: 'completed', lastSeq: 9 })
  expect(isNews(rested, 4)).toBe(true)
  expect(isNews(rested, 9)).toBe(false)
  expect(isNews({ ...rested, lastTurn: 'interrupted' }, 4)).toBe(true)
  expect(isNews({ ...rested, phase: 'running' }, 4)).toBe(false)
  expect(isNews({ ...rested, lastTurn: null }, 4)).toBe(false)
})

test('a search matches every word, wherever it is', () => {
  const status = aStatus({ title: 'Fix CRLF', projectRoot: '/code/parser-kit' })
  expect([matches(status, 'crlf parser'), matches(status, 'crlf docs'), matches(status, '')]).toEqual([
    true,
    false,
    true,
  ])
})

test('next and previous go through the list as it is shown, and stop at its ends', () => {
  const statuses = [
    aStatus({ sessionId: 'old', lastTurn: 'completed', updatedAt: '2026-01-01' }),
    aStatus({ sessionId: 'new', lastTurn: 'completed', updatedAt: '2026-01-02' }),
    aStatus({ sessionId: 'busy', phase: 'running' }),
  ]
  const path = (from: string | undefined, step: 1 | -1) => sessionBeside(statuses, from, step)
  expect([undefined, 'busy', 'new', 'old'].map(from => path(from, 1))).toEqual([
    'busy',
    'new',
    'old',
    undefined,
  ])
  expect([undefined, 'old', 'new', 'busy'].map(from => path(from, -1))).toEqual([
    'old',
    'new',
    'busy',
    undefined,
  ])
})

test('a session of a machine that is away is not said to work or to need anybody', () => {
  const machine = { name: 'build', state: 'away' as const }
  const working = aStatus({ phase: 'running', machine })
  expect([groupOf(working), statusLine(working, NOW)]).toEqual([
    'At rest',
    expect.stringMatching(/^build is away/),
  ])
  expect(groupOf(aStatus({ phase: 'waiting', pending: [request], machine }))).toBe('At rest')
  // A hub that is cut off itself knows nothing else than what it heard last.
  expect(groupOf(aStatus({ phase: 'running', machine: { ...machine, state: 'unknown' } }))).toBe('Working')
  expect(matches(working, 'build')).toBe(true)
})
