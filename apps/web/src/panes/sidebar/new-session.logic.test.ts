import { expect, test } from 'vitest'
import { aHarness } from '../../../test/support/harnesses.ts'
import type { HarnessInfo } from '../../state/server/answers.ts'
import { agentLabel, EMPTY_FORM, modelOptions, offers, toOptions } from './new-session.logic.ts'

const asks = aHarness({
  capabilities: { supportsDecisions: true, supportsReadOnly: true, supportsBudget: true },
})
const mute: HarnessInfo = aHarness({
  capabilities: {
    supportsDecisions: false,
    supportsReadOnly: false,
    supportsSystemPrompt: false,
    supportsBudget: false,
    supportsMaxTurns: false,
    supportsCostTracking: false,
    supportsAppendSystemPrompt: false,
  },
})

test('an agent that cannot ask is offered no mode in which it would', () => {
  expect(offers(asks).permissionModes).toEqual(['default', 'acceptEdits', 'dontAsk', 'plan'])
  expect(offers(mute).permissionModes).toEqual(['dontAsk'])
})

test('the default model comes first, under its name where it has one', () => {
  const [opus, haiku] = asks.models
  expect(modelOptions(asks.models).map(({ label }) => label)).toEqual(['its default, Opus 5.5', 'Haiku 5'])
  const nameless = [{ id: 'd', label: 'Default', isDefault: true }, ...(haiku ? [haiku] : [])]
  expect(modelOptions(nameless).map(({ label }) => label)).toEqual(['its default', 'Haiku 5'])
  expect(modelOptions([]).map(({ value }) => value)).toEqual([''])
  expect(opus?.isDefault).toBe(true)
})

test.each([
  [undefined, 'Claude Code'],
  [{ installed: true, authenticated: true, authType: 'account' }, 'Claude Code'],
  [{ installed: true, authenticated: false, authType: 'none' }, 'Claude Code (not logged in)'],
  [{ installed: false, authenticated: false, authType: 'none' }, 'Claude Code (not installed)'],
] as const)('%j is called %s', (status, label) => expect(agentLabel(asks, status)).toBe(label))

test('what was chosen for another harness is not sent to this one', () => {
  const form = {
    ...EMPTY_FORM,
    persona: 'DECOMP',
    model: 'of-another',
    permissionMode: 'default',
    budget: '5',
    maxTurns: '5',
  } as const
  expect(toOptions({ ...form, harness: mute.id }, mute)).toEqual({ harness: mute.id, mode: 'workbench' })
})

test('what was chosen is sent', () => {
  const form = {
    ...EMPTY_FORM,
    harness: asks.id,
    persona: 'DECOMP',
    thinking: 'high',
    permissionMode: 'plan',
    budget: '2.5',
    maxTurns: '40',
  } as const
  expect(toOptions({ ...form, model: asks.models[0]?.id ?? '' }, asks)).toEqual({
    harness: asks.id,
    persona: 'DECOMP',
    mode: 'workbench',
    model: asks.models[0]?.id,
    thinking: 'high',
    permissionMode: 'plan',
    budgetUsd: 2.5,
    maxTurns: 40,
  })
})

test.each(['', 'x', '0', '-1'])('%j is no budget', budget => {
  expect(toOptions({ ...EMPTY_FORM, budget }, asks)).toEqual({ mode: 'workbench' })
})
