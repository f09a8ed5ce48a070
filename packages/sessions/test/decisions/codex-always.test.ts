import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionDecision, UIEvent } from '@chirality/core'
import { CodexHarness } from '@chirality/runner'
import { PolicyBook, type SessionHost } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { eventsOf, useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()

const mcpServers = {
  shop: {
    type: 'stdio' as const,
    command: process.execPath,
    args: [join(import.meta.dirname, '../programs/mcp-shop.mjs')],
  },
}
const refund = (amount: number) => ({
  tool: 'refund',
  namespace: 'mcp__shop',
  input: { order: 'A1', amount },
})
const ruleFor = (amount: number) => `allow mcp__shop__refund({"amount":${amount},"order":"A1"})`

test('Codex, a tool of an MCP server: "always" and "for the session" keep the call on the card, and no other amount', async () => {
  const model = await world.model({
    answers: [
      ...[refund(5), refund(5), refund(99_999), 'Done.'],
      ...[refund(5), refund(7), 'Done.'],
      ...[refund(8), refund(8), refund(9), 'Done.'],
    ],
  })
  const config = world.codexConfig(model)
  // The server of the test is waited for, and not for a second only.
  const configOverrides = [...config.configOverrides, 'mcp_optional_startup_grace_ms=0']
  const host = world.host([new CodexHarness({ ...config, configOverrides })])
  const own = new PolicyBook({ home: world.data }).places(world.project).project
  const rules = () =>
    readFileSync(own, 'utf8')
      .split('\n')
      .filter(line => line.startsWith('allow'))

  const first = await turn(host, [{ behavior: 'allow', remember: 'always' }, { behavior: 'deny' }])
  expect(first.cards).toEqual([
    { rule: ruleFor(5), words: 'this tool with exactly this input' },
    { rule: ruleFor(99_999), words: 'this tool with exactly this input' },
  ])
  // Word for word what the card showed.
  expect(rules()).toEqual([first.cards[0]?.rule])
  expect(first.answers).toEqual([
    ['allowed', 'person', undefined],
    ['allowed', 'policy', `${own}:2 ${ruleFor(5)}`],
    ['denied', 'person', undefined],
  ])

  const next = await turn(host, [{ behavior: 'deny' }])
  expect(next.cards.map(card => card?.rule)).toEqual([ruleFor(7)])
  expect(next.answers).toEqual([
    ['allowed', 'policy', `${own}:2 ${ruleFor(5)}`],
    ['denied', 'person', undefined],
  ])

  const passing = await turn(host, [{ behavior: 'allow', remember: 'session' }, { behavior: 'deny' }])
  expect(passing.cards.map(card => card?.rule)).toEqual([ruleFor(8), ruleFor(9)])
  expect(passing.answers).toEqual([
    ['allowed', 'person', undefined],
    ['allowed', 'policy', `session: ${ruleFor(8)}`],
    ['denied', 'person', undefined],
  ])
  expect(rules()).toEqual([ruleFor(5)])
})

/** A turn of a new session: the cards that a person was shown, in order, and who answered each request. */
async function turn(host: SessionHost, decisions: PermissionDecision[]) {
  const { id } = await host.createSession(world.project, { harness: 'codex', permissionMode: 'default' })
  const session = await host.session(id)
  const shown = new Set<string>()
  const stop = host.decisions.onChange(() => {
    for (const { request } of host.decisions.pending(id)) {
      if (shown.has(request.requestId)) continue
      shown.add(request.requestId)
      host.decisions.answer(id, request.requestId, decisions.shift() ?? { behavior: 'deny' })
    }
  })
  await session.start('Refund', { mcpServers })
  await session.settled()
  stop()
  const events = eventsOf(session)
  return {
    // What the page draws is in the log.
    cards: events.flatMap(event =>
      event.type === 'permission:request' && shown.has(event.requestId) ? [event.always] : [],
    ),
    answers: events.flatMap((event: UIEvent) =>
      event.type === 'permission:resolved' ? [[event.outcome, event.by, event.rule]] : [],
    ),
  }
}
