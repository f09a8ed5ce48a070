import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { appRouter } from '../src/trpc/router.ts'
import { createWorld, serveWorld } from './support/agents.ts'
import { startTestServer } from './support/test-server.ts'

const DOCS = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')
const blocks = [...DOCS.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(match => match[1] ?? '')
const BREAK = '\n----8<----\n'

test('every route and every procedure is in docs/api.md', async () => {
  const { routes } = await startTestServer()
  const missing = routes
    .filter(({ path: route }) => !route.endsWith('*'))
    .map(({ path: route }) => route.replace(/:id.*/, ''))
    .filter(route => !DOCS.includes(route))
  expect(missing).toEqual([])
  const rows = DOCS.slice(DOCS.indexOf('## tRPC')).split('\n')
  const untold = Object.keys(appRouter._def.procedures).filter(name => {
    const [router, first] = name.split('.')
    const row =
      rows.find(line => line.startsWith(`| \`${name}\``) || line.startsWith(`| \`${router}\``)) ?? ''
    return ![name, first, `${first}.*`].some(word => row.includes(`\`${word}\``))
  })
  expect(untold).toEqual([])
})

test('every command in docs/api.md does what is written there', async () => {
  const world = await createWorld({ otherwise: 'Hello.' })
  const server = await serveWorld(world)
  const script = ['set -euo pipefail', ...blocks].join(`\nprintf '${BREAK.replaceAll('\n', '\\n')}'\n`)
  // A clean home: some shells read a file from it even so.
  const env = {
    HOME: world.home,
    PATH: process.env.PATH,
    URL: server.url,
    TOKEN: server.token,
    PROJECT: world.project,
  }
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], { env })
  expect(stderr).toBe('')
  const [, said, health, created, listed, trust, turn, resumed, pending, ...rest] = stdout.split(BREAK)
  const [interrupted, exported, deleted, core, error, trpc] = rest
  expect(said).toContain(`URL=${server.url}`)
  expect(health).toContain('"status":"ok"')
  expect(created).toBe('')
  expect(listed).toMatch(/^\[\{"id":.*\{"session":\{"id":/s)
  expect(trust).toMatch(/"isTrusted":false.*"files":\[\]/)
  expect(turn).toMatch(
    /id: 1\nevent: turn:start\ndata: .*event: chat:message\ndata: .*Hello\..*event: turn:end/s,
  )
  expect(resumed).toContain('event: session:init')
  expect(resumed).not.toContain('event: turn:start')
  expect(pending).toBe('{"pending":[]}')
  expect(interrupted).toBe('{"interrupted":false}')
  expect(exported).toContain('Say hello.')
  expect(deleted).toBe('204\n')
  expect(core).toMatch(/"turnId":.*data: \{"type":"user","content":"Say hello\.".*"cancelled":/s)
  expect(error).toContain('"code":"not-found"')
  expect(trpc).toMatch(/"version":.*"open":true/s)
})
