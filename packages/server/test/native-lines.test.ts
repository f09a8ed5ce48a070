import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createWorld, serveWorld } from './support/agents.ts'
import { sessionWith, startTestServer } from './support/test-server.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

test('the lines of a real Claude Code: while it waits, what comes next, and page by page', async () => {
  const world = await createWorld({
    answers: [{ text: 'I make it.', tool: 'Bash', input: { command: 'echo made > made.txt' } }, 'Made.'],
  })
  const server = await serveWorld(world)
  const { client } = connect(server)
  const { id: sessionId } = await client.sessions.create.mutate({
    ...{ project: world.project, mode: 'direct', permissionMode: 'default' },
  })
  const { nativeLines } = client.sessions
  expect(await nativeLines.query({ sessionId })).toMatchObject({ lines: [], before: null, after: null })

  const watch = new SessionWatch(client, sessionId)
  const { turnId } = await client.turns.start.mutate({ sessionId, message: 'Make it.' })
  const { requestId } = await watch.until('permission:request')
  const waiting = await nativeLines.query({ sessionId })
  const asked = waiting.lines.find(({ text }) => text.includes(requestId))
  expect(asked).toMatchObject({ turnId, harness: 'claude-code', cut: false, torn: false })
  expect(JSON.parse(asked?.text ?? '')).toMatchObject({
    ...{ type: 'control_request', request_id: requestId, request: { tool_name: 'Bash' } },
  })
  await client.decisions.answer.mutate({ sessionId, requestId, decision: { behavior: 'allow' } })
  await watch.until('turn:end')

  const rest = await nativeLines.query({ sessionId, after: waiting.after ?? '' })
  const known = new Set(waiting.lines.filter(({ torn }) => !torn).map(({ id }) => id))
  expect(rest.lines.filter(({ id }) => known.has(id))).toEqual([])
  expect(rest.lines.map(({ text }) => JSON.parse(text).type)).toContain('result')
  const ids = [...known, ...rest.lines.map(({ id }) => id)]
  const paged: string[] = []
  for (let before: string | undefined; ; ) {
    const page = await nativeLines.query({ sessionId, maxBytes: 1, ...(before ? { before } : {}) })
    expect(page.lines).toHaveLength(1)
    paged.unshift(...page.lines.map(({ id }) => id))
    if (page.before === null) break
    before = page.before
  }
  // An agent that is kept says a word or two after its turn.
  const late = (await nativeLines.query({ sessionId, after: rest.after ?? '' })).lines.map(({ id }) => id)
  expect([...ids, ...late].slice(0, paged.length)).toEqual(paged)
  expect(paged.length).toBeGreaterThanOrEqual(ids.length)
})

test('one that is too long for a page, whole and in pieces, and what else can be asked of it', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { id: sessionId } = await sessionWith(server, 3)
  const long = JSON.stringify({ text: 'ä'.repeat(200_000) })
  const spool = `20260101T120000000Z-${sessionId}-aaaaaaaa-0000-4000-8000-000000000001`
  const logs = path.join(server.project, '.chirality', 'logs', 'claude-code')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(logs, `${spool}.ndjson`), `short\n${long}\n`)
  const [, line] = (await client.sessions.nativeLines.query({ sessionId })).lines
  expect(line).toMatchObject({ cut: true })
  const { nativeLine } = client.sessions
  const id = line?.id ?? ''
  expect((await nativeLine.query({ sessionId, id })).text).toBe(long)
  const first = await nativeLine.query({ sessionId, id, maxBytes: 300_000 })
  const rest = await nativeLine.query({ sessionId, id, from: first.next ?? 0, maxBytes: 300_000 })
  expect([first.text + rest.text, rest.next]).toEqual([long, null])

  const refused = (input: object) =>
    nativeLine.query({ sessionId, id, ...input }).catch(({ data }) => data.reason ?? data.code)
  expect(await refused({ id: `${spool}.1` })).toBe('not-found')
  expect(await refused({ id: '../../x.0' })).toBe('not-found')
  expect(await refused({ id: 'x'.repeat(300) })).toBe('invalid-input')
  expect(await refused({ maxBytes: 2 ** 30 })).toBe('invalid-input')
  expect(await refused({ maxBytes: 1 })).toBe('invalid-input')
  expect(await refused({ from: -1 })).toBe('invalid-input')
  expect(server.faults).toEqual([])
})

test('an invalid request gets an error text, and a session without a spool has no lines', async () => {
  const server = await startTestServer()
  const { client } = connect(server)
  const { id: sessionId } = await sessionWith(server, 3)
  const { nativeLines } = client.sessions
  expect(await nativeLines.query({ sessionId })).toEqual({
    ...{ lines: [], before: null, after: null, more: false, problems: [] },
  })
  const refused = (input: object) =>
    nativeLines.query({ sessionId, ...input }).catch(({ message, data }) => ({ message, ...data }))
  expect(await refused({ after: 'x.0' })).toMatchObject({
    ...{ code: 'NOT_FOUND', reason: 'not-found', message: expect.stringContaining('Read it again') },
  })
  expect(await refused({ before: 'x.0', after: 'x.0' })).toMatchObject({ code: 'BAD_REQUEST' })
  expect(await refused({ after: 'x'.repeat(300) })).toMatchObject({ code: 'BAD_REQUEST' })
  expect(await refused({ maxBytes: 2 ** 30 })).toMatchObject({ code: 'BAD_REQUEST' })
  expect(await refused({ sessionId: '../x' })).toMatchObject({ code: 'BAD_REQUEST' })
  expect(await refused({ sessionId: 'no-such-session' })).toMatchObject({ code: 'NOT_FOUND' })
  expect(server.faults).toEqual([])
})
