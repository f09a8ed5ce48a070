import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { claudeBinary } from '@chirality/fixtures'
import { MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { type NativeLine, readNativeLines } from '../../src/index.ts'
import { untilEvent, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const AGENTS: [string, (model: ScriptedModel) => SessionHarness][] = [
  ['claude-code', model => world.claude(model, { keepAlive: true })],
  ['claude-code', model => world.claude(model, { keepAlive: false })],
  [
    'agent-sdk',
    model => new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
  ],
  ['messages-api', model => new MessagesApiHarness({ environment: world.environment(model) })],
]

test.each(AGENTS)(
  '%s: what it printed, each line in the turn that it was printed for',
  async (harness, make) => {
    const model = await world.model({ answers: ['The answer is one.', 'The answer is two.'] })
    const host = world.host([make(model)])
    const { id } = await host.createSession(world.project, { mode: 'direct', harness })
    const session = await host.session(id)
    const turns: string[] = []
    for (const message of ['First?', 'Second?']) {
      turns.push((await session.start(message)).turnId)
      await session.settled()
    }
    const lines = await allLines(id)
    expect([...new Set(lines.map(({ turnId }) => turnId))]).toEqual(turns)
    expect(lines.every(line => line.harness === harness && !line.cut && !line.torn)).toBe(true)
    const [first, second] = turns.map(turn => textOf(lines.filter(({ turnId }) => turnId === turn)))
    expect(first).toContain('The answer is one.')
    expect(first).not.toContain('The answer is two.')
    expect(second).toContain('The answer is two.')
    // All of it, and in its order; an agent that is kept says a word or two after its turn.
    const folder = world.file('logs', harness)
    const printed = () =>
      readdirSync(folder)
        .filter(name => name.endsWith('.ndjson'))
        .sort()
        .map(name => readFileSync(join(folder, name), 'utf8'))
        .join('')
    await expect.poll(async () => `${textOf(await allLines(id))}\n` === printed()).toBe(true)

    await host.deleteSession(id)
    expect(await readNativeLines(world.project, id)).toMatchObject({ lines: [], after: null })
    expect(readdirSync(world.file('state', 'spools'))).toEqual([])
  },
)

test('codex: two sessions on one server, and each has its own lines only', async () => {
  const model = await world.model({
    routes: [
      { when: { lastUserContains: 'alpha' }, answers: ['You said alpha.'] },
      { when: { lastUserContains: 'beta' }, answers: ['You said beta.'] },
    ],
  })
  const host = world.host([world.codex(model)])
  const sessions = await Promise.all(
    ['alpha', 'beta'].map(async word => {
      const { id } = await host.createSession(world.project, { mode: 'direct', harness: 'codex' })
      const session = await host.session(id)
      const { turnId } = await session.start(`Say ${word}`)
      return { id, turnId, word, session }
    }),
  )
  for (const { session } of sessions) await session.settled()
  expect(readdirSync(world.file('logs', 'codex')).filter(name => name.endsWith('.ndjson'))).toHaveLength(1)
  for (const { id, turnId, word } of sessions) {
    const lines = await allLines(id)
    expect([...new Set(lines.map(line => line.turnId))]).toEqual([turnId])
    const other = word === 'alpha' ? 'beta' : 'alpha'
    expect(textOf(lines)).toContain(`You said ${word}.`)
    expect(textOf(lines)).not.toContain(`Say ${other}`)
    expect(textOf(lines)).not.toContain(`You said ${other}.`)
    expect(lines.map(({ text }) => JSON.parse(text).method)).toEqual(
      expect.arrayContaining(['turn/started', 'item/completed', 'turn/completed']),
    )
  }
})

test('while the agent still prints, and after another host has taken over its turn', async () => {
  const waits = 'until [ -e go ]; do sleep 0.05; done'
  const model = await world.model({
    answers: [{ text: 'I wait.', tool: 'Bash', input: { command: waits } }, 'Went on.'],
  })
  const first = world.host([world.claude(model)])
  const { id } = await first.createSession(world.project, { mode: 'direct', harness: 'claude-code' })
  const session = await first.session(id)
  const { turnId } = await session.start('Wait', { autoApproveTools: ['Bash'] })
  await untilEvent(session, ({ type }) => type === 'tool:start')
  const before = await readNativeLines(world.project, id)
  expect(textOf(before.lines)).toContain('I wait.')
  expect(before.lines.every(line => line.turnId === turnId)).toBe(true)
  await first.close({ agents: 'leave' })

  const second = world.host([world.claude(model)])
  expect(await second.openProject(world.project)).toMatchObject({ adopted: [id] })
  writeFileSync(join(world.project, 'go'), '')
  await (await second.session(id)).settled()
  const since = async () => (await readNativeLines(world.project, id, { after: before.after ?? '' })).lines
  expect(textOf(await since())).toContain('Went on.')
  const known = before.lines.filter(line => !line.torn)
  const joined = async () => textOf([...known, ...(await since())])
  await expect.poll(async () => (await joined()) === textOf(await allLines(id))).toBe(true)
})

async function allLines(sessionId: string): Promise<NativeLine[]> {
  const { lines, before, problems } = await readNativeLines(world.project, sessionId, {
    maxBytes: 10_000_000,
  })
  expect([before, problems]).toEqual([null, []])
  return lines
}

function textOf(lines: readonly NativeLine[]): string {
  return lines.map(({ text }) => text).join('\n')
}
