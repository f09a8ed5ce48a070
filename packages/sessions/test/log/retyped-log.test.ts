import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { exportSession } from '../../src/history/export/export-session.ts'
import { encodeLine } from '../../src/log/envelope-line.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { ScriptedHarness } from '../support/scripted-harness.ts'

const world = useHostWorld()
const USAGE = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3 }

/** One of every kind, with the fields that readers use. */
const SAMPLES: Record<string, unknown>[] = [
  { type: 'turn:start', message: 'Hi', attachments: 1 },
  { type: 'session:init', claudeSessionId: 'n', model: 'm', tools: ['Bash'], slashCommands: ['a'] },
  { type: 'chat:delta', text: 'x', messageId: 'a' },
  { type: 'chat:thinking', text: 'x', messageId: 'b' },
  { type: 'chat:message', text: 'x', messageId: 'a', model: 'm' },
  { type: 'tool:start', toolUseId: 't', name: 'Bash', input: { command: 'ls' } },
  { type: 'tool:input', toolUseId: 't', input: { command: 'ls' } },
  { type: 'tool:result', toolUseId: 't', content: 'x', isError: false },
  { type: 'permission:request', requestId: 'r', kind: 'tool', toolName: 'Bash', input: {}, raw: null },
  { type: 'permission:resolved', requestId: 'r', outcome: 'allowed', by: 'person' },
  { type: 'status', status: 'notice', message: 'x', level: 'info', data: { a: 1 } },
  { type: 'usage', usage: USAGE, model: 'm' },
  { type: 'budget', scope: 'turn', spentUsd: 1, limitUsd: 2, exceeded: false },
  { type: 'limits', windows: [{ name: 'week', usedPercent: 1 }] },
  { type: 'native:unknown', harness: 'codex', nativeType: 'x', raw: {} },
  { type: 'log:gap', afterSeq: 1, missing: 1, reason: 'x' },
  { type: 'chat:complete', text: 'x' },
  { type: 'session:complete', costUsd: 1, usage: USAGE },
  { type: 'session:error', error: 'x', code: 'unknown', costUsd: 1, usage: USAGE },
  { type: 'process:exit', code: 0, signal: null, leftRunning: 0 },
  { type: 'turn:end', reason: 'completed', durationMs: 1 },
]

/** Each of them with each field missing, null, and of another type. */
function mutations(): Record<string, unknown>[] {
  return SAMPLES.flatMap(sample =>
    Object.keys(sample)
      .filter(name => name !== 'type')
      .flatMap(name => {
        const { [name]: value, ...without } = sample
        const other = typeof value === 'string' ? { not: 'a text' } : 'not that'
        return [
          without,
          { ...sample, [name]: null },
          { ...sample, [name]: other },
          { ...sample, [name]: [7] },
        ]
      }),
  )
}

test('a log whose events have missing and retyped fields opens, is shown, exported and gone on with', async () => {
  const host = world.host([new ScriptedHarness([])])
  const { id: sessionId } = await host.createSession(world.project)
  await host.closeProject(world.project)
  const lines = [...SAMPLES, ...mutations(), ...SAMPLES].map((event, n) =>
    encodeLine({
      seq: n + 1,
      at: '2026-01-01T00:00:00.000Z',
      sessionId,
      turnId: 't1',
      event: { ...event, sessionId } as unknown as UIEvent,
    }),
  )
  expect(lines.length).toBeGreaterThan(180)
  mkdirSync(world.file('events'), { recursive: true, mode: 0o700 })
  writeFileSync(world.file('events', `${sessionId}.ndjson`), lines.join(''), { mode: 0o600 })
  rmSync(world.file('events', `${sessionId}.idx`), { force: true })
  writeFileSync(world.file('sessions', `${sessionId}.json`), '{}')

  const session = await host.session(sessionId)
  const events = eventsOf(session)
  expect(events.filter(event => event.type === 'native:unknown').length).toBeGreaterThan(100)
  expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  expect(session.status).toMatchObject({ phase: 'idle' })
  for (const format of ['markdown', 'json', 'html'] as const) {
    let text = ''
    for await (const part of exportSession(world.project, sessionId, { format, home: world.data }))
      text += part
    expect(text).not.toBe('')
  }
  expect(await host.forkSession(sessionId)).toMatchObject({ projectRoot: world.project })
})
