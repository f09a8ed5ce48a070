import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { MessagesApiHarness } from '@chirality/runner'
import type { ScriptedModel } from '@chirality/scripted-model'
import { DecisionBroker, type PendingDecision, PolicyBook, rehearsePolicy } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const AGENTS: [string, string, (model: ScriptedModel) => SessionHarness][] = [
  ['Claude Code', 'Bash', model => world.claude(model, { keepAlive: true })],
  ['the Messages API', 'bash', model => new MessagesApiHarness({ environment: world.environment(model) })],
]

test.each(AGENTS)(
  '%s: rules allow and deny, a person answers the rest, and the log says who did',
  async (_name, tool, harnessFor) => {
    const run = (command: string) => ({ blocks: [{ tool, input: { command, description: 'Work' } }] })
    const model = await world.model({
      answers: [run('touch allowed'), run('touch denied'), run('touch allowed; touch smuggled'), 'Done.'],
    })
    const policies = new PolicyBook({ home: world.data })
    const { project: own } = policies.places(world.project)
    mkdirSync(dirname(own), { recursive: true })
    writeFileSync(own, 'deny Bash(touch denied)\nallow Bash(touch *)\n', { mode: 0o600 })
    const host = world.host([harnessFor(model)], { decisions: new DecisionBroker({ policies }) })
    const { id } = await host.createSession(world.project, { mode: 'direct', permissionMode: 'default' })
    const session = await host.session(id)
    await session.start('Work')
    const waiting = await nextPending(host.decisions, id)
    expect(waiting.request.input).toMatchObject({ command: 'touch allowed; touch smuggled' })
    host.decisions.answer(id, waiting.request.requestId, {
      behavior: 'deny',
      message: 'One at a time.',
    })
    await session.settled()

    const made = ['allowed', 'denied', 'smuggled'].map(name => existsSync(join(world.project, name)))
    expect(made).toEqual([true, false, false])
    expect(eventsOf(session).filter(({ type }) => type === 'permission:resolved')).toMatchObject([
      { outcome: 'allowed', by: 'policy', rule: `${own}:2 allow Bash(touch *)` },
      { outcome: 'denied', by: 'policy', rule: `${own}:1 deny Bash(touch denied)` },
      { outcome: 'denied', by: 'person' },
    ])
    expect(host.decisions.pending()).toEqual([])

    writeFileSync(own, 'deny Bash\n', { mode: 0o600 })
    const changes: string[] = []
    for await (const each of rehearsePolicy(world.project, { store: host.store, policies }))
      if (each.differs)
        changes.push(`${each.argument}: ${each.was.outcome} by ${each.was.by}, ${each.wouldBe.effect}`)
    expect(changes).toEqual([
      'touch allowed: allowed by policy, deny',
      'touch allowed; touch smuggled: denied by person, deny',
    ])
  },
)

function nextPending(decisions: DecisionBroker, sessionId: string): Promise<PendingDecision> {
  return new Promise(resolve => {
    const look = () => {
      const [first] = decisions.pending(sessionId)
      if (first === undefined) return
      stop()
      resolve(first)
    }
    const stop = decisions.onChange(look)
    look()
  })
}
