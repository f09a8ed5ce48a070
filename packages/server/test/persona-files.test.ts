import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from './support/test-server.ts'

const TEXT = '---\nauto_approve_tools: ["Bash(git log *)"]\n---\nReview.\n'

async function change(server: TestServer, call: string, input: object) {
  const response = await server.post(`/trpc/personas.${call}`, {
    ...{ project: server.project, id: 'REVIEWER' },
    ...input,
  })
  const body = (await response.json()) as {
    result?: { data: Record<string, unknown> }
    error?: { message: string; data: { reason: string } }
  }
  return { status: response.status, data: body.result?.data, reason: body.error?.data.reason }
}

async function isAllowed(server: TestServer): Promise<unknown> {
  return (await server.host.consent.load(server.project, 'REVIEWER'))?.isAllowed
}

test('a persona is checked, saved, and has to be allowed again after each change', async () => {
  const server = await startTestServer()
  const checked = await change(server, 'check', { text: '---\ntool: Read\n---\nWork.\n', mode: 'direct' })
  expect(checked.data).toMatchObject({ persona: null, problems: [{ line: 2 }], unmet: [] })
  expect(existsSync(path.join(server.project, 'agents'))).toBe(false)

  const saved = await change(server, 'save', { text: TEXT, revision: null })
  expect(saved.data).toMatchObject({ kind: 'done' })
  const { fingerprint = '' } = (await server.host.consent.load(server.project, 'REVIEWER')) ?? {}
  expect((await change(server, 'allow', { fingerprint })).status).toBe(200)
  expect(await isAllowed(server)).toBe(true)

  const again = await change(server, 'save', { text: `${TEXT}More.\n`, revision: saved.data?.revision })
  expect(again.data).toMatchObject({ kind: 'done' })
  expect(await isAllowed(server)).toBe(false)

  // What was allowed under this name is not allowed to a file that comes later, were it the same.
  const back = await change(server, 'save', { text: TEXT, revision: again.data?.revision })
  expect(await isAllowed(server)).toBe(true)
  const removed = await change(server, 'remove', { revision: back.data?.revision })
  expect(removed.data).toEqual({ kind: 'done', revision: null })
  await change(server, 'save', { text: TEXT, revision: null })
  expect(await isAllowed(server)).toBe(false)
})

test('a save with an old revision changes nothing and gives the text that is there', async () => {
  const server = await startTestServer()
  const file = path.join(server.project, 'agents/AGENT_REVIEWER.md')
  const { data } = await change(server, 'save', { text: TEXT, revision: null })
  writeFileSync(file, 'Theirs.\n')
  const refused = await change(server, 'save', { text: 'Mine.\n', revision: data?.revision })
  expect(refused.data).toMatchObject({ kind: 'conflict', current: { text: 'Theirs.\n' } })
  expect(readFileSync(file, 'utf8')).toBe('Theirs.\n')
})

test.each([
  ['a path', { id: '../REVIEWER', text: 'x', revision: null }, 400, 'invalid-input'],
  ['no name', { id: '', text: 'x', revision: null }, 400, 'invalid-input'],
  ['a huge text', { text: 'x'.repeat(256 * 1024 + 1), revision: null }, 400, 'invalid-input'],
  ['more bytes than characters', { text: 'ä'.repeat(200 * 1024), revision: null }, 422, 'persona-too-large'],
  ['a wrong revision', { text: 'x', revision: '../../etc' }, 400, 'invalid-input'],
  ['no persona', { text: '---\nx: 1\n---\n', revision: null }, 422, 'persona-invalid-file'],
  ['a folder that is no project', { project: '/', text: 'x', revision: null }, 403, 'project-not-registered'],
])('%s is refused, and nothing is written', async (_what, input, status, reason) => {
  const server = await startTestServer()
  expect(await change(server, 'save', input)).toMatchObject({ status, reason })
  expect(existsSync(path.join(server.project, 'agents'))).toBe(false)
})

test('neither a link in the place of the file nor one in the place of its folder is written through', async () => {
  const server = await startTestServer()
  const outside = path.join(server.project, '../outside')
  mkdirSync(outside)
  writeFileSync(path.join(outside, 'x.md'), 'Outside.\n')
  mkdirSync(path.join(server.project, 'agents'))
  symlinkSync(path.join(outside, 'x.md'), path.join(server.project, 'agents/AGENT_REVIEWER.md'))
  const saved = await change(server, 'save', { text: 'Mine.\n', revision: null })
  expect(saved).toMatchObject({ status: 403, reason: 'persona-unsafe' })
  expect(readFileSync(path.join(outside, 'x.md'), 'utf8')).toBe('Outside.\n')
})
