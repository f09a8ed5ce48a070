import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const TURN = [
  { type: 'system', subtype: 'init', model: 'claude-sonnet-4-5', tools: ['Bash'], cwd: '/' },
  {
    type: 'assistant',
    message: {
      id: 'm1',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: `echo ${'x'.repeat(500)}` } }],
    },
  },
  {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'four' }] },
  },
  {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'Done.',
    num_turns: 1,
    duration_ms: 1,
    total_cost_usd: 0.5,
    usage: { input_tokens: 7, output_tokens: 3 },
  },
]

/** An agent that also says things it should not. */
function agent(): string {
  const file = join(world.root, 'agent')
  const lines = TURN.map(event => `printf '%s\\n' '${JSON.stringify({ ...event, session_id: 'native-1' })}'`)
  const script = [
    '#!/bin/sh',
    'cat > /dev/null',
    "echo 'not JSON'",
    "echo 'a warning of hunter2hunter2' >&2",
    ...lines,
  ]
  writeFileSync(file, `${script.join('\n')}\n`)
  chmodSync(file, 0o755)
  return file
}

test('harness.log has every row of the specification, cut where it says', async () => {
  const model = await world.model({ answers: [] })
  const onLog = (entry: Parameters<typeof host.log>[0]) => host.log(entry)
  const harness = world.claude(model, { binaryPath: agent(), keepAlive: false, onLog })
  const host = world.host([harness], { secrets: ['hunter2hunter2'] })
  const session = await host.session((await host.createSession(world.project, { mode: 'workbench' })).id)
  for (const message of ['m'.repeat(300), 'again']) {
    await session.start(message)
    await session.settled()
  }
  await host.closeProject(world.project)
  const text = readFileSync(world.file('logs', 'harness.log'), 'utf8')
  const rows = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const row = (event: string) => rows.find(candidate => candidate.event === event)
  expect(rows.every(({ sessionId, timestamp }) => sessionId === session.id && timestamp !== '')).toBe(true)
  expect(row('turn:start')).toMatchObject({ level: 'info', data: { persona: null, mode: 'workbench' } })
  expect(row('turn:start').data.userMessage.length).toBeLessThanOrEqual(201)
  expect(row('process:spawn')).toMatchObject({
    level: 'info',
    data: { command: expect.any(String), pid: expect.any(Number) },
  })
  expect(row('session:init')).toMatchObject({
    data: { claudeSessionId: 'native-1', model: 'claude-sonnet-4-5', tools: ['Bash'] },
  })
  expect(row('tool:invoke')).toMatchObject({ level: 'info', data: { toolName: 'Bash' } })
  expect(row('tool:invoke').data.inputSummary.length).toBeLessThanOrEqual(201)
  expect(row('tool:result')).toMatchObject({ data: { toolName: 'Bash', isError: false, contentLength: 4 } })
  expect(row('turn:complete')).toMatchObject({
    data: { costUsd: 0.5, inputTokens: 7, outputTokens: 3, durationMs: expect.any(Number) },
  })
  expect(row('resume:attempt')).toMatchObject({ level: 'info', data: { claudeSessionId: 'native-1' } })
  expect(row('process:exit')).toMatchObject({
    data: { exitCode: 0, signal: null, durationMs: expect.any(Number) },
  })
  expect(row('parse:error')).toMatchObject({ level: 'warn', data: { line: 'not JSON' } })
  expect(row('stderr')).toMatchObject({ level: 'warn', data: { line: 'a warning of [redacted]' } })
  expect(text).not.toContain('sk-scripted-model')
})
