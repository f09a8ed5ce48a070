import { test } from 'vitest'
import { randomKills } from './support/processes/random-kills.ts'

// The seed of a run that failed repeats it: CHIRALITY_SEED.
test(
  'the hub’s logs are the worker’s, byte for byte, after 100 kills of worker, hub and broker',
  () =>
    randomKills({
      kills: 100,
      seed: Number(process.env.CHIRALITY_SEED ?? Date.now() % 1_000_000),
    }),
  1_800_000,
)
