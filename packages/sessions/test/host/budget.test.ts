import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BudgetEvent, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import type { NewSession, SessionHostOptions } from '../../src/host/host-options.ts'
import type { TurnRequest } from '../../src/queue/turn-request.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, type TurnScript } from '../support/scripted-harness.ts'
import { calls, prices, result, spends, works } from '../support/spending.ts'

const world = useHostWorld()

async function open(scripts: TurnScript[], options: NewSession = {}, more: Partial<SessionHostOptions> = {}) {
  const host = world.host([new ScriptedHarness(scripts)], { prices, ...more })
  const { id } = await host.createSession(world.project, options)
  return { host, session: await host.session(id) }
}

function budgets(events: UIEvent[]): [string, boolean, number | undefined][] {
  return events
    .filter((event): event is BudgetEvent => event.type === 'budget')
    .map(({ scope, exceeded, spentUsd, spentTokens }) => [scope, exceeded, spentUsd ?? spentTokens])
}

function budgetJson() {
  return JSON.parse(readFileSync(world.file('state', 'budget.json'), 'utf8'))
}

test('a turn is stopped when its budget is used up: after the tool, not in it', async () => {
  const { session } = await open([
    works(id => [
      ...[spends(id, 8), calls(id, 't1'), spends(id, 3), result(id, 't1')],
      ...[calls(id, 't2'), spends(id, 50), result(id, 't2')],
    ]),
  ])
  await session.start('Go', { maxBudgetUsd: 10 })
  await session.settled()
  const events = eventsOf(session)
  expect(budgets(events)).toEqual([
    ['turn', false, 8],
    ['turn', true, 11],
  ])
  expect(events.filter(({ type }) => type === 'tool:result')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'tool:start')).toHaveLength(1)
  expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'budget' })
  expect(session.status).toMatchObject({ lastTurn: 'budget', costUsd: 11 })
})

test.each([
  ['by a lot', [9, 2, 1, 1], 3],
  ['a little', [10, 0.1, 0.1, 0.1, 0.1], 2],
])(
  'a tool without an end does not hold the budget open: over %s, one more answer is paid for and no second',
  async (_by, costs, told) => {
    const { session } = await open([
      works(id => [calls(id, 'endless'), ...costs.map(usd => spends(id, usd)), result(id, 'endless')]),
    ])
    await session.start('Go', { maxBudgetUsd: 10 })
    await session.settled()
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'usage')).toHaveLength(told)
    expect(events.map(({ type }) => type)).not.toContain('tool:result')
    expect(session.status.lastTurn).toBe('budget')
  },
)

test('one answer that is far too dear still lets the tool end that it called', async () => {
  const { session } = await open([
    works(id => [calls(id, 't1'), spends(id, 50), result(id, 't1'), calls(id, 't2')]),
  ])
  await session.start('Go', { maxBudgetUsd: 10 })
  await session.settled()
  expect(eventsOf(session).filter(({ type }) => type === 'tool:result')).toHaveLength(1)
  expect(eventsOf(session).filter(({ type }) => type === 'tool:start')).toHaveLength(1)
})

test('two sessions that start together do not share the last turn of the project', async () => {
  const { host, session } = await open([answers('One.'), answers('Two.')])
  const { id } = await host.createSession(world.project)
  mkdirSync(world.file('state'), { recursive: true })
  const limits = { total_cost_usd: 0, max_cost_usd: null, iterations: 0, max_iterations: 1 }
  writeFileSync(world.file('state', 'budget.json'), JSON.stringify(limits))
  const other = await host.session(id)
  const starts = await Promise.allSettled([session.start('Go'), other.start('Go')])
  expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await Promise.all([session.settled(), other.settled()])
  expect(budgetJson()).toMatchObject({ iterations: 1 })
})

test('the cost of a turn is counted later if the disk is full at its end', async () => {
  let go = () => {}
  const gate = new Promise<void>(resolve => (go = resolve))
  const { session } = await open([
    async function* (turn) {
      for await (const event of answers('One.')(turn)) {
        if (event.type === 'session:complete') await gate
        yield event
      }
    },
    answers('Two.'),
  ])
  await session.start('Go')
  // A link is not followed, so nothing is written.
  renameSync(world.file('state'), world.file('away'))
  symlinkSync(world.file('away'), world.file('state'))
  go()
  await session.settled()
  await expect(session.start('More')).rejects.toMatchObject({ code: 'unsafe' })
  rmSync(world.file('state'))
  renameSync(world.file('away'), world.file('state'))
  await session.start('More')
  await session.settled()
  expect(budgetJson()).toMatchObject({ total_cost_usd: 0.5, iterations: 2 })
})

test('the cost of sub-agents counts, and the call that runs them does not delay the stop', async () => {
  const { session } = await open([
    works(id => [
      ...[calls(id, 'task'), calls(id, 't1', 'task'), spends(id, 20, 'task'), result(id, 't1', 'task')],
      ...[calls(id, 't2', 'task'), result(id, 't2', 'task'), result(id, 'task')],
    ]),
  ])
  await session.start('Go', { maxBudgetUsd: 10 })
  await session.settled()
  const results = eventsOf(session).filter(({ type }) => type === 'tool:result')
  expect(results).toMatchObject([{ toolUseId: 't1' }])
  expect(session.status.lastTurn).toBe('budget')
})

test('a stated cost replaces the estimate, and the shown cost never decreases', async () => {
  const states = (id: string, costUsd: number): UIEvent => ({
    type: 'session:complete',
    sessionId: id,
    costUsd,
    usage: { input_tokens: 3, output_tokens: 0 },
  })
  const { session, host } = await open([
    works(id => [spends(id, 3), states(id, 2.5)]),
    works(id => [spends(id, 3), states(id, 3.5)]),
  ])
  const shown: number[] = []
  host.onStatus(({ costUsd }) => shown.push(costUsd ?? -1))
  await session.start('Go')
  await session.settled()
  expect(session.status).toMatchObject({ costUsd: 3, costIsEstimate: true })
  await session.start('More')
  await session.settled()
  expect(session.status).toMatchObject({ costUsd: 6, costIsEstimate: false, tokens: 6 })
  expect(shown).toEqual([...shown].sort((a, b) => a - b))
  expect(budgetJson()).toMatchObject({ total_cost_usd: 6, total_tokens: 6, iterations: 2 })
})

test('a session over its budget starts no turn', async () => {
  const { session } = await open([works(id => [spends(id, 6)]), works(id => [spends(id, 6)])], {
    budgetUsd: 10,
  })
  for (const message of ['one', 'two']) {
    await session.start(message)
    await session.settled()
  }
  expect(budgets(eventsOf(session))).toEqual([['session', true, 12]])
  await expect(session.start('three')).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringContaining('$10'),
  })
  expect(session.status.phase).toBe('idle')
})

test('a persona has a budget for its session', async () => {
  mkdirSync(join(world.project, 'agents'))
  writeFileSync(join(world.project, 'agents', 'AGENT_THRIFTY.md'), '---\nbudget_usd: 5\n---\nSave.\n')
  const { session } = await open([works(id => [spends(id, 5), calls(id, 't1')])], { persona: 'THRIFTY' })
  await session.start('Go')
  await session.settled()
  expect(budgets(eventsOf(session))).toEqual([['persona', true, 5]])
  await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
})

test('a project has a budget for all its sessions, and a number of turns', async () => {
  const { host, session } = await open([answers('One.'), answers('Two.'), works(id => [spends(id, 1)])])
  mkdirSync(world.file('state'), { recursive: true })
  const limits = { total_cost_usd: 0, max_cost_usd: 1, iterations: 0, max_iterations: 3 }
  writeFileSync(world.file('state', 'budget.json'), JSON.stringify(limits))
  const run = async (request: TurnRequest = {}) => {
    const { id } = await host.createSession(world.project)
    const other = await host.session(id)
    await other.start('Go', request)
    await other.settled()
    return other
  }
  await session.start('Go')
  await session.settled()
  await run()
  expect(budgetJson()).toMatchObject({
    total_cost_usd: 0.5,
    max_cost_usd: 1,
    iterations: 2,
    max_iterations: 3,
  })
  const last = await run()
  expect(budgets(eventsOf(last))).toEqual([['project', true, 1.5]])
  expect(budgetJson()).toMatchObject({ total_cost_usd: 1.5, iterations: 3 })
  await expect(session.start('More')).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringContaining('max_iterations'),
  })
  // An agent can write that file: what it raises there counts for nothing.
  writeFileSync(
    world.file('state', 'budget.json'),
    JSON.stringify({ ...limits, max_iterations: 9, max_cost_usd: 9 }),
  )
  await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
  await host.budgets.setLimits(world.project, { max_iterations: 9 })
  await expect(session.start('More')).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringContaining('$1.50 of $1.00'),
  })
})

test('a model without a price causes a notice before its first request, and its tokens are limited', async () => {
  const { session } = await open(
    [
      works(id => [
        ...[
          { ...init(id), model: 'local-7b' } as UIEvent,
          spends(id, 600),
          calls(id, 't1'),
          result(id, 't1'),
        ],
        ...[spends(id, 600), spends(id, 600)],
      ]),
    ],
    { budgetUsd: 0.01 },
  )
  await session.start('Go')
  await session.settled()
  const events = eventsOf(session)
  const told = events.findIndex(event => event.type === 'status' && event.message.includes('No price'))
  expect(events[told]).toMatchObject({ message: expect.stringContaining('stops it after 1,000 tokens') })
  expect(told).toBeLessThan(events.findIndex(({ type }) => type === 'usage'))
  expect(events.filter(({ type }) => type === 'usage')).toHaveLength(2)
  expect(budgets(events)).toEqual([['session', true, 0.012]])
  expect(session.status).toMatchObject({ lastTurn: 'budget', costUsd: null, tokens: 1200 })
  expect(budgetJson()).toMatchObject({ total_cost_usd: 0, unpriced_tokens: 1200 })
})

test('a stated cost counts for a model without a price', async () => {
  const { session } = await open(
    [
      works(id => [
        ...[spends(id, 3), spends(id, 3)],
        {
          type: 'session:complete',
          sessionId: id,
          costUsd: 12,
          usage: { input_tokens: 6, output_tokens: 0 },
        },
      ]),
    ],
    { budgetUsd: 10 },
    { prices: {} },
  )
  await session.start('Go')
  await session.settled()
  expect(budgets(eventsOf(session))).toEqual([['session', true, 12]])
  expect(session.status).toMatchObject({ costUsd: 12, costIsEstimate: false })
})

test('tokens are a budget too: of a turn, a session, a persona and a project', async () => {
  mkdirSync(join(world.project, 'agents'))
  writeFileSync(join(world.project, 'agents', 'AGENT_SHORT.md'), '---\nbudget_tokens: 7\n---\nSave.\n')
  const spend = works(id => [
    spends(id, 5),
    calls(id, 't1'),
    result(id, 't1'),
    spends(id, 5),
    calls(id, 't2'),
  ])
  const host = world.host([new ScriptedHarness([spend, spend, spend, spend])], { prices })
  const run = async (options: NewSession, request: TurnRequest = {}) => {
    const { id } = await host.createSession(world.project, options)
    const session = await host.session(id)
    await session.start('Go', request)
    await session.settled()
    expect(session.status).toMatchObject({ lastTurn: 'budget', tokens: 10 })
    return { session, told: budgets(eventsOf(session)) }
  }
  expect((await run({}, { maxBudgetTokens: 8 })).told).toEqual([['turn', true, 10]])
  const { session, told } = await run({ budgetTokens: 9 })
  expect(told).toEqual([['session', true, 10]])
  await expect(session.start('More')).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringContaining('10 tokens of 9 tokens'),
  })
  expect((await run({ persona: 'SHORT' })).told).toEqual([['persona', true, 10]])
  await host.budgets.setLimits(world.project, { max_tokens: 36 })
  expect((await run({})).told).toEqual([
    ['project', false, 35],
    ['project', true, 40],
  ])
})

test('a budget that is raised lets the session go on, also while the turn runs', async () => {
  let raise = async () => {}
  const { session } = await open(
    [
      works(id => [spends(id, 12)]),
      async function* ({ session: { id: sessionId }, message }) {
        yield { type: 'turn:start', sessionId, message }
        yield spends(sessionId, 4)
        await raise()
        yield spends(sessionId, 9)
        yield { type: 'turn:end', sessionId, reason: 'completed' }
      },
    ],
    { budgetUsd: 10 },
  )
  await session.start('Go')
  await session.settled()
  await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
  await session.setBudget({ usd: 20 })
  expect(session.status).toMatchObject({ budgetUsd: 20, budgetTokens: null })
  raise = async () => void (await session.setBudget({ usd: 30 }))
  await session.start('More')
  await session.settled()
  expect(session.status).toMatchObject({ lastTurn: 'completed', costUsd: 25 })
})

test('a limit that cannot be known starts no turn', async () => {
  const { session } = await open([works(id => [spends(id, 1)])])
  mkdirSync(world.file('state'), { recursive: true })
  writeFileSync(world.file('state', 'budget.json'), '{')
  await expect(session.start('Go')).rejects.toMatchObject({
    message: expect.stringContaining('cannot be read, so it is not known what the project may spend'),
  })
})
