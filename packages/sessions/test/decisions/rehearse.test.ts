import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { PermissionResolvedEvent, UIEvent } from '@chirality/core'
import {
  openSessionLog,
  PolicyBook,
  type RehearsedRequest,
  rehearsePolicy,
  SessionStore,
} from '@chirality/sessions'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { permissionRequest } from './permission-request.ts'

let folder: string
let root: string
let store: SessionStore
let policies: PolicyBook

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rehearse-')))
  root = join(folder, 'project')
  mkdirSync(root)
  store = new SessionStore({ home: join(folder, 'home') })
  policies = new PolicyBook({ home: join(folder, 'home') })
})

afterEach(() => rmSync(folder, { recursive: true }))

async function session(persona: string | null, events: (sessionId: string) => UIEvent[]): Promise<string> {
  const { id } = await store.create(root, persona, 'direct')
  const log = await openSessionLog(root, id)
  for (const event of events(id)) log.append(event, { turnId: 't1' })
  await log.close()
  return id
}

function asked(sessionId: string, requestId: string, command: string): UIEvent {
  return permissionRequest({ sessionId, requestId, input: { command } })
}

function resolved(
  sessionId: string,
  requestId: string,
  answer: Pick<PermissionResolvedEvent, 'outcome' | 'by' | 'rule'>,
): UIEvent {
  return { type: 'permission:resolved', sessionId, requestId, ...answer }
}

function writeOwn(...lines: string[]): string {
  const file = policies.places(root).project
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, lines.join('\n'), { mode: 0o600 })
  return file
}

async function rehearse(
  options: Partial<Parameters<typeof rehearsePolicy>[1]> = {},
): Promise<RehearsedRequest[]> {
  const all: RehearsedRequest[] = []
  for await (const each of rehearsePolicy(root, { store, policies, ...options })) all.push(each)
  return all
}

const brief = ({ argument, was, wouldBe, differs }: RehearsedRequest) => [
  argument,
  was.outcome,
  wouldBe.effect,
  differs,
]

test('reports each change: who answered, and which rule would', async () => {
  const file = writeOwn('deny Bash(rm *)', 'allow Bash(ls *)', 'allow Bash(git *)')
  const id = await session(null, sessionId => [
    { type: 'turn:start', sessionId, message: 'Work' },
    asked(sessionId, 'a', 'ls -l'),
    asked(sessionId, 'b', 'rm -rf build'),
    resolved(sessionId, 'b', { outcome: 'allowed', by: 'person' }),
    resolved(sessionId, 'a', { outcome: 'allowed', by: 'policy', rule: 'old:1 allow Bash' }),
    asked(sessionId, 'c', 'git push'),
    resolved(sessionId, 'c', { outcome: 'denied', by: 'policy', rule: 'old:2 deny Bash(git push)' }),
    asked(sessionId, 'd', 'make'),
    resolved(sessionId, 'd', { outcome: 'cancelled', by: 'agent' }),
    asked(sessionId, 'e', 'make all'),
    resolved(sessionId, 'e', { outcome: 'allowed', by: 'policy', rule: 'session: allow Bash(make all)' }),
    asked(sessionId, 'f', 'curl x'),
    resolved(sessionId, 'f', { outcome: 'allowed', by: 'policy', rule: 'old:3 allow Bash(curl *)' }),
    asked(sessionId, 'g', 'git status'),
    { type: 'turn:end', sessionId, reason: 'crashed' },
  ])
  const all = await rehearse()
  expect(all.map(brief)).toEqual([
    ['rm -rf build', 'allowed', 'deny', true],
    ['ls -l', 'allowed', 'allow', false],
    ['git push', 'denied', 'allow', true],
    ['make', 'cancelled', 'ask', false],
    ['make all', 'allowed', 'ask', false],
    ['curl x', 'allowed', 'ask', true],
    ['git status', 'open', 'allow', true],
  ])
  expect(all[0]).toEqual({
    sessionId: id,
    at: expect.stringMatching(/^\d{4}-/),
    persona: null,
    toolName: 'Bash',
    argument: 'rm -rf build',
    always: 'allow Bash(rm -rf build)',
    was: { outcome: 'allowed', by: 'person' },
    wouldBe: { effect: 'deny', rule: `${file}:1 deny Bash(rm *)` },
    differs: true,
  })
})

test('goes through every session, each with its persona, and through long logs', async () => {
  mkdirSync(join(root, 'agents'))
  writeFileSync(join(root, 'agents/AGENT_DEV.md'), '---\npolicy: [deny Bash]\n---\nWork.\n')
  const many = (sessionId: string) =>
    Array.from({ length: 1200 }, (_, n) => asked(sessionId, `r${n}`, `echo ${n}`))
  await session('DEV', sessionId => [asked(sessionId, 'a', 'ls')])
  await session(null, many)
  for (let n = 0; n < 60; n += 1) await session(null, sessionId => [asked(sessionId, 'a', 'ls')])
  const all = await rehearse()
  expect(all).toHaveLength(1261)
  expect(new Set(all.map(({ sessionId }) => sessionId)).size).toBe(62)
  expect(all.filter(({ differs }) => differs)).toMatchObject([
    { persona: 'DEV', wouldBe: { rule: 'agents/AGENT_DEV.md:2 deny Bash' } },
  ])
})

test('a draft takes the place of the user’s policy', async () => {
  writeOwn('deny Bash')
  await session(null, sessionId => [asked(sessionId, 'a', 'ls')])
  const draft = join(root, 'draft.policy')
  writeFileSync(draft, 'allow Bash(ls)')
  expect((await rehearse({ edited: policies.draft(draft) })).map(brief)).toEqual([
    ['ls', 'open', 'allow', true],
  ])
  expect((await rehearse()).map(brief)).toEqual([['ls', 'open', 'deny', true]])
})

test('a log that cannot be read is left out, and told', async () => {
  const bad = await session(null, sessionId => [asked(sessionId, 'a', 'ls')])
  await session(null, sessionId => [asked(sessionId, 'a', 'make')])
  rmSync(join(root, '.chirality/events', `${bad}.ndjson`))
  mkdirSync(join(root, '.chirality/events', `${bad}.ndjson`))
  const unreadable: string[] = []
  const all = await rehearse({ onUnreadable: sessionId => unreadable.push(sessionId) })
  expect([all.map(brief), unreadable]).toEqual([[['make', 'open', 'ask', false]], [bad]])
  await expect(rehearse()).rejects.toThrow()
})

test('a project without sessions has nothing to rehearse', async () => {
  expect(await rehearse()).toEqual([])
})
