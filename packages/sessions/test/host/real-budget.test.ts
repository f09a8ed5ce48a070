import { MessagesApiHarness } from '@chirality/runner'
import type { ScriptAnswer, ScriptedModel } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

// Each answer calls a tool that nobody is asked about, and costs more than the whole budget.
const usage = { input: 100_000, output: 10_000 }
const forever = (tool: string, input: Record<string, unknown>): ScriptAnswer => ({ tool, input, usage })

test.each([
  ['codex', (model: ScriptedModel) => world.codex(model), forever('exec_command', { cmd: 'true' })],
  ['claude-code', (model: ScriptedModel) => world.claude(model), forever('Glob', { pattern: '*' })],
  [
    'messages-api',
    (model: ScriptedModel) => new MessagesApiHarness({ environment: world.environment(model) }),
    forever('list', {}),
  ],
] as const)(
  'a budget in dollars stops %s after at most one more call of the model',
  async (id, make, answer) => {
    const model = await world.model({ answers: Array(8).fill(answer), otherwise: 'Done.' })
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
