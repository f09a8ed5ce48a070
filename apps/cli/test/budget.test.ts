import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Envelope } from '@chirality/core'
import { expect, test } from 'vitest'
import { createWorld } from './support/world.ts'

/** Each answer calls a tool that nobody is asked about. */
const round = { tool: 'list', input: {} }

async function spendingWorld(rounds: number) {
  const world = await createWorld({ answers: Array(rounds).fill(round), otherwise: 'Done.' })
  const budget = (...args: string[]) => world.run(['budget', ...args])
  const sheet = async (...args: string[]) => JSON.parse((await budget(...args, '--json')).stdout)
  const turn = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.run(['run', '--json', ...args])
    const envelopes = stdout
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as Envelope)
    return { code, stderr, events: envelopes.map(({ event }) => event), id: envelopes[0]?.sessionId ?? '' }
  }
  return { ...world, budget, sheet, turn }
}

test('budgets of a project, a session and a persona without a server', async () => {
  const world = await spendingWorld(8)
  const data = path.join(world.home, 'data')
  world.env.CHIRALITY_HOME = data
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(path.join(data, 'prices.json'), '{"claude-sonnet-5-5": {"input": 0.5, "output": 0.5}}')
  const shown = await world.budget('set', '--usd', '5', '--minutes', '90', '--turns', '9')
  expect(shown.stdout).toBe(
    `Project ${world.project}\n  usd      $0.00 spent, limit $5.00\n  tokens   0 spent, no limit\n` +
      '  minutes  0 ms spent, limit 1 h 30 min\n  turns    0 spent, limit 9\n',
  )
  const stopped = await world.turn('--harness', 'messages-api', '--budget-tokens', '100', 'Go')
  expect(stopped).toMatchObject({ code: 5, stderr: expect.stringContaining('chirality budget set') })
  expect(stopped.events.filter(({ type }) => type === 'budget').at(-1)).toMatchObject({
    ...{ scope: 'session', exceeded: true, limitTokens: 100 },
  })
  expect(world.model.requests.length).toBeLessThanOrEqual(2)
  const session = ['--session', stopped.id]
  const refused = await world.turn(...session, 'More')
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('budget set --session ID') })

  expect(await world.sheet(...session)).toMatchObject({ kind: 'session', tokens: { limit: 100 } })
  const raised = await world.sheet('set', ...session, '--tokens', 'none', '--usd', '3', '--minutes', '10')
  expect(raised).toMatchObject({ usd: { limit: 3 }, tokens: { limit: null }, minutes: { limit: 10 } })
  expect((await world.turn(...session, '--budget-usd', '4', 'More')).code).toBe(0)
  const { usd, tokens } = await world.sheet(...session)
  expect(usd.limit).toBe(4)
  // By the user's own price, also what the Messages API states itself.
  expect(usd.spent).toBeCloseTo((tokens.spent * 0.5) / 1e6, 8)
  expect(await world.sheet()).toMatchObject({
    ...{
      usd: { spent: usd.spent, limit: 5 },
      tokens: { spent: tokens.spent },
      turns: { spent: 2, limit: 9 },
    },
  })

  mkdirSync(path.join(world.project, 'agents'))
  const file = path.join(world.project, 'agents', 'AGENT_CODER.md')
  writeFileSync(file, '---\nmodel: opus\n---\nWrite code.\n')
  expect(await world.sheet('set', '--persona', 'CODER', '--usd', '1')).toMatchObject({
    ...{ kind: 'persona', usd: { limit: 1 }, tokens: { limit: null } },
  })
  expect(readFileSync(file, 'utf8')).toBe('---\nmodel: opus\nbudget_usd: 1\n---\nWrite code.\n')
  writeFileSync(file, '---\n{ model: opus }\n---\nWrite code.\n')
  expect(await world.budget('set', '--persona', 'CODER', '--usd', '1')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('Edit it by hand; it is as it was') },
  })
  expect(readFileSync(file, 'utf8')).toBe('---\n{ model: opus }\n---\nWrite code.\n')
})

test.each([
  [['set'], 'Say which limit: --usd, --tokens, --minutes or --turns'],
  [['show', '--usd', '3'], '--usd changes a budget. Write "chirality budget set".'],
  [['raise', '--usd', '3'], 'budget knows show and set, not "raise"'],
  [['--session', 'x', '--persona', 'y'], '--session cannot be combined'],
  [['--persona', 'NOBODY'], 'There is no persona "NOBODY"'],
  [['set', '--persona', 'P', '--turns', '3'], '--turns is a limit of a project'],
])('chirality budget %j is refused', async (args, message) => {
  const world = await createWorld()
  expect(await world.run(['budget', ...args])).toMatchObject({
    ...{ code: 2, stdout: '', stderr: expect.stringContaining(message) },
  })
})

test('budgets are set through the server that has the project, and count there at once', async () => {
  const world = await spendingWorld(3)
  const server = world.start(['serve', '--json', '--port', '0', '--project', world.project])
  await server.shows('\n')
  // Not world.run: the server is one of the processes that it would find left behind.
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await world.start(args).result()
    return { code, stderr, lines: stdout.trimEnd().split('\n') }
  }
  const agent = ['run', '--json', '--harness', 'messages-api']
  const stopped = await run(...agent, '--budget-tokens', '100', 'Go')
  expect(stopped.code).toBe(5)
  const { sessionId } = JSON.parse(stopped.lines[0] ?? '') as Envelope
  expect((await run('run', '--session', sessionId, 'More')).code).toBe(5)
  const set = await run(
    'budget',
    'set',
    '--session',
    sessionId,
    '--tokens',
    '101',
    '--minutes',
    '60',
    '--json',
  )
  expect(JSON.parse(set.lines[0] ?? '')).toMatchObject({ tokens: { limit: 101 }, minutes: { limit: 60 } })
  expect((await run('run', '--session', sessionId, 'More')).code).toBe(5)
  expect(await run('run', '--session', sessionId, '--budget-tokens', '1000000', 'More')).toMatchObject({
    code: 0,
  })
  expect((await run('budget', 'set', '--turns', '2')).code).toBe(0)
  expect(await run(...agent, 'Once more')).toMatchObject({
    ...{ code: 5, stderr: expect.stringContaining('has had 2 of 2 turns') },
  })
  server.signal('SIGTERM')
  expect((await server.result()).code).toBe(0)
})
