import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PolicyBook } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from './support/test-server.ts'

async function rulesOf(server: TestServer) {
  const input = encodeURIComponent(JSON.stringify({ project: server.project }))
  const response = await server.fetch(`/trpc/rules.list?input=${input}`)
  const { result } = (await response.json()) as {
    result: { data: { kind: string; trusted: boolean; rules: { text: string; line: number }[] }[] }
  }
  return result.data
}

test('rules are listed with their origin, and one of the user is taken back once', async () => {
  const server = await startTestServer()
  const own = new PolicyBook({ home: server.home }).places(server.project).project
  mkdirSync(path.dirname(own), { recursive: true, mode: 0o700 })
  writeFileSync(own, '# mine\nallow Bash(npm test *)\ndeny Bash(git push *)\n', { mode: 0o600 })
  mkdirSync(path.join(server.project, '.chirality'), { recursive: true })
  writeFileSync(path.join(server.project, '.chirality/policy'), 'allow Bash(*)\n')

  const listed = await rulesOf(server)
  expect(listed.map(({ kind, trusted, rules }) => [kind, trusted, rules.map(rule => rule.text)])).toEqual([
    ['user-project', true, ['allow Bash(npm test *)', 'deny Bash(git push *)']],
    ['user-global', true, []],
    ['project', false, ['allow Bash(*)']],
  ])

  const rule = { project: server.project, scope: 'project', line: 2, text: 'allow Bash(npm test *)' }
  expect((await server.post('/trpc/rules.remove', rule)).status).toBe(200)
  expect(readFileSync(own, 'utf8')).toBe('# mine\ndeny Bash(git push *)\n')
  const again = await server.post('/trpc/rules.remove', rule)
  expect(again.status).toBe(409)
  expect(await again.text()).toContain('has changed since it was read')
  expect(readFileSync(own, 'utf8')).toBe('# mine\ndeny Bash(git push *)\n')
})

test.each([
  { scope: 'persona', line: 1, text: 'allow Bash' },
  { scope: 'project', line: 0, text: 'allow Bash' },
  { scope: 'project', line: 1, text: '' },
  { scope: 'project', line: 1, text: 'allow Bash', file: '/etc/passwd' },
])('%j is refused', async input => {
  const server = await startTestServer()
  const response = await server.post('/trpc/rules.remove', { project: server.project, ...input })
  expect(response.status).toBe(400)
})

test('a folder that is no project has no rules to read or to take back', async () => {
  const server = await startTestServer()
  const project = path.dirname(server.project)
  const input = encodeURIComponent(JSON.stringify({ project }))
  const read = await server.fetch(`/trpc/rules.list?input=${input}`)
  const rule = { project, scope: 'global', line: 1, text: 'allow Bash' }
  const removed = await server.post('/trpc/rules.remove', rule)
  expect([read.status, removed.status]).toEqual([403, 403])
})
