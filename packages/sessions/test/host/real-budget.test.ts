import { readFileSync } from 'node:fs'
import { claudeBinary } from '@chirality/fixtures'
import { MessagesApiHarness } from '@chirality/runner'
import { AgentSdkHarness } from '@chirality/runner/agent-sdk'
import type { ScriptAnswer, ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { BudgetBook } from '../../src/budget/budget-book.ts'
import { RunBudgets } from '../../src/turns/run-budgets.ts'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

// Each answer calls a tool that nobody is asked about, and costs more than the whole budget. The model answers the second
// call only when the stop has come: on a busy machine it would be faster than any stop.
const usage = { input: 100_000, output: 10_000 }
const forever = (tool: string, input: Record<string, unknown>): ScriptAnswer[] => [
  { tool, input, usage },
  ...Array<ScriptAnswer>(7).fill({ tool, input, usage, stallAfter: 'nothing' }),
]

test.each([
  ['codex', (model: ScriptedModel) => world.codex(model), forever('exec_command', { cmd: 'ls' })],
  ['claude-code', (model: ScriptedModel) => world.claude(model), forever('Glob', { pattern: '*' })],
  [
    'agent-sdk',
    (model: ScriptedModel) =>
      new AgentSdkHarness({ binaryPath: claudeBinary(), environment: world.environment(model) }),
    forever('Glob', { pattern: '*' }),
  ],
  [
    'messages-api',
    (model: ScriptedModel) => new MessagesApiHarness({ environment: world.environment(model) }),
    forever('list', {}),
  ],
] as const)(
  'a budget in dollars stops %s after at most one more call of the model',
  async (id, make, answers) => {
    const model = await world.model({ answers, otherwise: 'Done.' })
    const host = world.host([make(model)])
    const created = await host.createSession(world.project, {
      harness: id,
      budgetUsd: 0.05,
      permissionMode: 'acceptEdits',
    })
    const session = await host.session(created.id)
    await session.start('Go')
    await session.settled()
    const events = eventsOf(session)
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'budget' }])
    const [stop] = events.filter(event => event.type === 'budget' && event.exceeded)
    expect(stop).toMatchObject({ scope: 'session', limitUsd: 0.05 })
    const calls = model.requests.filter(({ body }) => JSON.stringify(body).includes('Go')).length
    expect(calls).toBeLessThanOrEqual(2)
    expect(session.status.costUsd).toBeGreaterThan(0.05)
    await expect(session.start('More')).rejects.toMatchObject({ code: 'budget' })
  },
)

const state = (name: string) => JSON.parse(readFileSync(world.file('state', name), 'utf8'))

test('run() of Claude Code counts in budget.json and claude-session.json, and is stopped by the budget of its project', async () => {
  const model = await world.model({ answers: ['Once.', ...forever('Glob', { pattern: '*' })] })
  const account = new RunBudgets({ home: world.data })
  const harness = world.claude(model, { account })
  const request = { cwd: world.project, role: 'Coder', allowedTools: ['Glob'] }

  const { sessionId, totalCostUsd, usage } = await harness.run({ ...request, prompt: 'First' })
  expect(state('budget.json')).toMatchObject({
    total_cost_usd: totalCostUsd,
    iterations: 1,
    unpriced_tokens: 0,
    total_tokens: usage.input_tokens + usage.output_tokens,
  })
  expect(state('claude-session.json')).toEqual({
    coder_session_id: sessionId,
    updated_at: expect.any(String),
  })

  const book = new BudgetBook({ home: world.data })
  await book.setLimits(world.project, { max_cost_usd: totalCostUsd + 0.05 })
  await expect(harness.run({ ...request, prompt: 'Forever' })).rejects.toMatchObject({
    name: 'ClaudeRunError',
    code: 'budget_exceeded',
    message: expect.stringMatching(/The budget of the project is used up: \$\d.*chirality budget set/),
  })
  const asked = () => model.requests.filter(({ body }) => JSON.stringify(body).includes('Forever')).length
  expect(asked()).toBeLessThanOrEqual(2)
  const { total_cost_usd, iterations } = state('budget.json')
  expect(iterations).toBe(2)
  expect(total_cost_usd).toBeGreaterThan(totalCostUsd + 0.05)

  const before = model.requests.length
  await expect(harness.run({ ...request, prompt: 'More' })).rejects.toMatchObject({ code: 'budget_exceeded' })
  expect(model.requests).toHaveLength(before)
  expect(state('budget.json')).toMatchObject({ iterations: 2 })
})
