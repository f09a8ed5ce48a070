import type { HarnessCapabilities, SessionHarness } from '@chirality/core'
import { UsageError } from '../../usage-error.ts'

/** A limit that the agent does not know would be believed in and not hold. */
export function refuseUnsupported(harness: SessionHarness, given: Readonly<Record<string, unknown>>): void {
  const can = harness.capabilities()
  const refused = NEEDS.find(({ option, capability }) => given[option] !== undefined && !can[capability])
  if (!refused) return
  const { option, lacks, instead } = refused
  throw new UsageError(
    `--${option} does not work with ${harness.id}: ${harness.meta().name} ${lacks}. ${instead}`,
  )
}

const PERMISSIONS = { lacks: 'has no tools to choose by name', instead: 'Use --permission-mode.' }

const NEEDS: readonly {
  option: string
  capability: keyof HarnessCapabilities
  lacks: string
  instead: string
}[] = [
  { option: 'tools', capability: 'supportsNamedTools', ...PERMISSIONS },
  { option: 'allow', capability: 'supportsNamedTools', ...PERMISSIONS },
  {
    option: 'max-turns',
    capability: 'supportsMaxTurns',
    lacks: 'counts no rounds',
    instead: 'Use --timeout.',
  },
]
