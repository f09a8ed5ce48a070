import { HARNESS_ID } from '@chirality/core'

/** The label of a field with agents that go on with a task at a limit of the plan. */
export const HAND_OVER = 'Hand over to'

/** The names in a field, or what is wrong with them. */
export function agentNames(text: string): string[] | string {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
  return names.every(name => HARNESS_ID.test(name))
    ? names
    : `"${HAND_OVER}" must be ids of agents with commas between.`
}
