import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { createWorld, type World } from './support/agents.ts'
import { connect } from './support/trpc-client.ts'
import { SessionWatch } from './support/watch-session.ts'

const PERSONA = `---
description: Makes things.
tools: [Bash, Read]
---
You are the maker.
`

test('a session of a real Claude Code: persona, tool, decision, follow-up, interrupt, restart', async () => {
  const world = await createWorld({
    answers: [
      { text: 'I make it.', tool: 'Bash', input: { command: 'echo made > made.txt' } },
      'Made.',
      'It was made.txt.',
      { text: 'This takes its time.', stallAfter: 1 },
      'Still here.',
    ],
  })
  mkdirSync(path.join(world.project, 'agents'))
  writeFileSync(path.join(world.project, 'agents', 'AGENT_MAKER.md'), PERSONA)
  execFileSync('git', ['init', '-q'], { cwd: world.project })
  const first = await serve(world)

  const personas = await first.client.personas.list.query({ project: world.project })
  expect(personas).toMatchObject([{ kind: 'persona', persona: { id: 'MAKER' } }])
  const prompt = await first.client.personas.prompt.query({
    project: world.project,
    id: 'MAKER',
    mode: 'workbench',
  })
  expect(prompt.text).toContain('You are the maker.')
  const { id: sessionId } = await first.client.sessions.create.mutate({
    ...{ project: world.project, persona: 'MAKER', mode: 'workbench', permissionMode: 'default' },
  })
  const watch = new SessionWatch(first.client, sessionId)

  // A turn that asks.
  const { turnId } = await first.client.turns.start.mutate({ sessionId, message: 'Make a file.' })
  const busy = await first.client.turns.start
    .mutate({ sessionId, message: 'x' })
    .catch((error: Error) => error)
  expect(busy).toMatchObject({ data: { code: 'CONFLICT', reason: 'busy' } })
  const request = await watch.until('permission:request')
  expect(request).toMatchObject({ toolName: 'Bash', input: { command: 'echo made > made.txt' } })
  const pending = () => first.client.decisions.pending.query({ sessionId })
  await expect.poll(pending).toMatchObject([{ sessionId, request: { requestId: request.requestId } }])
  expect(await first.client.system.processes.query()).toMatchObject([
    { sessionId, turnId, harness: 'claude-code' },
  ])
  expect(existsSync(path.join(world.project, 'made.txt'))).toBe(false)
  await first.client.decisions.answer.mutate({
    ...{ sessionId, requestId: request.requestId, decision: { behavior: 'allow' } },
  })
  expect(await watch.until('tool:result')).toMatchObject({ isError: false })
  expect(await watch.until('turn:end')).toMatchObject({ reason: 'completed' })
  expect(existsSync(path.join(world.project, 'made.txt'))).toBe(true)
  expect(watch.types).toContain('chat:delta')
  expect(await first.client.decisions.pending.query()).toEqual([])
  await rests(first)
  const diff = await first.client.files.turnDiff.query({ sessionId, turnId })
  expect(diff).toMatchObject({ source: 'git', files: [{ path: 'made.txt', kind: 'added', added: 1 }] })

  // A follow-up goes on with the same conversation, on another server.
  const native = (await first.client.sessions.get.query({ sessionId })).claudeSessionId
  expect(native).not.toBeNull()
  const before = watch.envelopes
  await first.server.close()
  const second = await serve(world)
  const rewatch = new SessionWatch(second.client, sessionId)
  const followUp = await second.client.turns.start.mutate({ sessionId, message: 'Which file was it?' })
  await rewatch.until('turn:end', (_event, { turnId: of }) => of === followUp.turnId)
  expect(rewatch.envelopes.slice(0, before.length)).toEqual(before)
  expect((await second.client.sessions.get.query({ sessionId })).claudeSessionId).toBe(native)
  const asked = world.model.requests.at(-1)?.body as { messages: unknown[] }
  expect(JSON.stringify(asked.messages)).toContain('echo made > made.txt')

  await rests(second)
  // An interrupt ends the turn, and the session goes on.
  const slow = await second.client.turns.start.mutate({ sessionId, message: 'Take your time.' })
  await world.model.waitForRequest(({ state }) => state === 'stalled')
  await second.client.turns.interrupt.mutate({ sessionId })
  const end = await rewatch.until('turn:end', (_event, { turnId: of }) => of === slow.turnId)
  expect(end.reason).toBe('interrupted')
  await rests(second)
  const last = await second.client.turns.send.mutate({ sessionId, message: 'Are you there?' })
  if (!('turnId' in last)) throw new Error('it was queued')
  await rewatch.until('turn:end', (_event, { turnId: of }) => of === last.turnId)
  const seqs = rewatch.envelopes.map(({ seq }) => seq)
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => i + 1))
  await rests(second)
  expect(await second.client.sessions.list.query()).toMatchObject({
    sessions: [{ id: sessionId, persona: 'MAKER', turnCount: 4 }],
  })
})

/** A turn is over some moments after its end was told: its agent is cleaned up first. */
async function rests({ client }: Awaited<ReturnType<typeof serve>>): Promise<void> {
  await expect.poll(async () => (await client.system.health.query()).runningTurns).toBe(0)
}

async function serve(world: World) {
  const faults: unknown[] = []
  const server = await startServer({
    ...{ harnesses: world.harnesses(), projects: [world.project], port: 0 },
    home: path.join(world.home, 'chirality'),
    onFault: error => faults.push(error),
  })
  onTestFinished(async () => {
    await server.close()
    expect(faults).toEqual([])
  })
  return { server, ...connect(server) }
}
