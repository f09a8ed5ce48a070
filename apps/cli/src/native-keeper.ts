import type { HarnessId } from '@chirality/core'
import { agentFacts } from './agent-facts.ts'
import { type CommandHarness, createHarnesses, HARNESS_IDS, RUN_HARNESS_IDS } from './harnesses.ts'
import { oneOf } from './options.ts'

/** Whose files the conversations of a harness are in; null where Chirality's own sessions are all there is. */
export function keeperOf(id: HarnessId): (typeof HARNESS_IDS)[number] | null {
  // The Agent SDK runs Claude Code, and leaves what that leaves.
  if (id === 'agent-sdk') return 'claude-code'
  return HARNESS_IDS.find(keeper => keeper === id) ?? null
}

export interface NativeKeepers {
  harnesses: CommandHarness[]
  /** What a person should know who asked for another. */
  note?: string
}

/** Who is to be asked for conversations that agents keep: all, or the one that `--harness` means. */
export function nativeKeepers(given: string | undefined): NativeKeepers {
  const harness = oneOf('harness', given, RUN_HARNESS_IDS)
  const registry = createHarnesses()
  if (harness === undefined) return { harnesses: registry.getAll() }
  const keeper = keeperOf(harness)
  const { name } = agentFacts(harness)
  if (keeper === null) {
    const note = `${name} keeps no conversations but those of Chirality. See \`chirality sessions list\`.`
    return { harnesses: [], note }
  }
  const harnesses = [registry.getOrThrow(keeper)]
  if (keeper === harness) return { harnesses }
  return { harnesses, note: `The ${name} keeps its conversations with those of ${agentFacts(keeper).name}.` }
}
