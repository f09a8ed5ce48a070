import { expect, test } from 'vitest'
import { outdatedCaches, ownCaches, type RequestFacts, treatmentOf } from './worker-files.ts'

const HERE = 'http://127.0.0.1:4096'

function treat(url: string, changes: Partial<RequestFacts> = {}) {
  const request = { method: 'GET', mode: 'navigate', destination: 'document', url: HERE + url, ...changes }
  return treatmentOf(request, HERE)
}

const PART = { mode: 'cors', destination: 'script' } as const

test.each([
  ...[
    '/',
    '/fleet',
    '/loops',
    '/schedules',
    '/loops/l1',
    '/usage',
    '/settings',
    '/settings/agents',
    '/s/abc',
    '/s/abc/t/1',
    '/p/code',
  ],
])('%s is a page', url => {
  expect(treat(url)).toEqual({ kind: 'page', path: url })
})

test('a secret in a fragment, or a question, goes no further', () => {
  expect(treat('/#sign-in=secret')).toEqual({ kind: 'page', path: '/' })
  expect(treat('/s/abc?x=1#sign-in=secret')).toEqual({ kind: 'page', path: '/s/abc' })
})

test('a file with a hash in its name is a file, of whatever build', () => {
  expect(treat('/assets/a-12345678.js', PART)).toEqual({ kind: 'file', path: '/assets/a-12345678.js' })
})

test.each([
  '/api/sign-in',
  '/api/sessions',
  '/trpc/sessions.list',
  '/trpc',
  '/healthz',
  '/events',
  '/sw.js',
  '/icon.svg',
])('%s is never touched', url => {
  expect(treat(url)).toEqual({ kind: 'none' })
  expect(treat(url, { mode: 'cors', destination: '' })).toEqual({ kind: 'none' })
})

test.each<[string, string, Partial<RequestFacts>]>([
  ['a frame', '/', { destination: 'iframe' }],
  ['a form', '/', { method: 'POST' }],
  ['HTML that a script asks for', '/', { mode: 'cors', destination: '' }],
  ['a file with a question', '/assets/a-12345678.js?x', PART],
  ['another site', '', { ...PART, url: 'http://127.0.0.1:4097/assets/a-12345678.js' }],
])('%s is not touched', (_name, url, changes) => {
  expect(treat(url, changes)).toEqual({ kind: 'none' })
})

test('the build before the one in charge stays, older ones go, and what is not ours is let be', () => {
  expect(outdatedCaches(['chirality-a', 'other', 'chirality-b', 'chirality-c'], 'c')).toEqual(['chirality-a'])
  expect(outdatedCaches(['chirality-b', 'chirality-c'], 'c')).toEqual([])
  expect(outdatedCaches(['chirality-c'], 'c')).toEqual([])
  expect(ownCaches(['chirality-a', 'other'])).toEqual(['chirality-a'])
})
