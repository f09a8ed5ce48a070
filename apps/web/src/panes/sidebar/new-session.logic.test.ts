import { expect, test } from 'vitest'
import { aHarness } from '../../../test/support/harnesses.ts'
import type { HarnessInfo } from '../../state/server-api.ts'
import { EMPTY_FORM, offers, toOptions } from './new-session.logic.ts'

const asks = aHarness({
  capabilities: { supportsDecisions: true, supportsReadOnly: true, supportsBudget: true },
})
const mute: HarnessInfo = aHarness({
  capabilities: {
    supportsDecisions: false,
    supportsReadOnly: false,
    supportsSystemPrompt: false,
    supportsBudget: false,
    supportsCostTracking: false,
    supportsAppendSystemPrompt: false,
  },
})

test('an agent that cannot ask is offered no mode in which it would', () => {
  expect(offers(asks).permissionModes).toEqual([
    'default',
    'acceptEdits',
    'dontAsk',
    'plan',
    'bypassPermissions',
  ])
  expect(offers(mute).permissionModes).toEqual(['dontAsk', 'bypassPermissions'])
})

test('what was chosen for another harness is not sent to this one', () => {
  const form = {
    ...EMPTY_FORM,
    persona: 'DECOMP',
    model: 'of-another',
    permissionMode: 'default',
    budget: '5',
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
  } as const
  expect(toOptions({ ...form, model: asks.models[0]?.id ?? '' }, asks)).toEqual({
    harness: asks.id,
    persona: 'DECOMP',
    mode: 'workbench',
    model: asks.models[0]?.id,
    thinking: 'high',
    permissionMode: 'plan',
    budgetUsd: 2.5,
  })
})

test.each(['', 'x', '0', '-1'])('%j is no budget', budget => {
  expect(toOptions({ ...EMPTY_FORM, budget }, asks)).toEqual({ mode: 'workbench' })
})
