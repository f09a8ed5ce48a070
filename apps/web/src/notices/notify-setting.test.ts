import { expect, test } from 'vitest'
import { type NotifyFacts, type NotifyState, notifyStateOf } from './notify-setting.ts'

test.each<[Partial<NotifyFacts>, NotifyState]>([
  [{}, 'on'],
  [{ off: true }, 'off'],
  [{ permission: 'default' }, 'ask'],
  [{ permission: 'default', off: true }, 'ask'],
  [{ permission: 'denied' }, 'denied'],
  [{ permission: 'denied', off: true }, 'denied'],
  [{ supported: false }, 'unsupported'],
])('%j is %s', (facts, state) => {
  expect(notifyStateOf({ supported: true, permission: 'granted', off: false, ...facts })).toBe(state)
})
