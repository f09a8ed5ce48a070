import { test } from 'vitest'
import { randomKills } from './support/processes/random-kills.ts'

// The long form is in kills.fleet.ts.
test(
  'the hub’s logs are the worker’s, byte for byte, after worker, hub and broker were killed',
  () => randomKills({ kills: 4, seed: 53 }),
  600_000,
)
