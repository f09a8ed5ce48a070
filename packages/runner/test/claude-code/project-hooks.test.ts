import { claudeBinaries } from '@chirality/fixtures'
import { describe } from 'vitest'
import { testFailingHooks } from './support/failing-hooks.ts'
import { useWarmWorld } from './support/warm.ts'

describe.each(claudeBinaries())('Claude Code $version', ({ path: binary }) =>
  testFailingHooks(useWarmWorld(binary)),
)
