import type { Contestant } from './contestant.ts'
import * as registry from './registry.ts'

export type { Contestant, ModelAddress, Place } from './contestant.ts'

/** Every form with its newest release; with CHIRALITY_TEST_ALL (`npm run test:all`) also with the older one. */
export function contestants({ keptOlder = false } = {}): Contestant[] {
  if (process.env.CHIRALITY_TEST_ALL) return everyContestant()
  return everyContestant().filter(agent => !agent.isOlder || (keptOlder && !agent.processPerTurn))
}

export function everyContestant(): Contestant[] {
  return Object.values(registry).flatMap(forms => forms())
}
