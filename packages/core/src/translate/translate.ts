import type { HarnessId } from '../harness.ts'
import type { NdjsonRecord } from '../ndjson/ndjson-framer.ts'
import type { UIEvent } from '../ui-event.ts'
import { createClaudeTranslator } from './claude/claude-translator.ts'
import { HARNESS_ID as CLAUDE_CODE } from './claude/ui.ts'

export interface Translator {
  translateRecord(record: NdjsonRecord): UIEvent[]
  end(): UIEvent[]
}

export interface TranslatorOptions {
  sessionId: string
}

/** Undefined for a harness whose output is no NDJSON that a translator exists for. */
export function createTranslator(harnessId: HarnessId, options: TranslatorOptions): Translator | undefined {
  return TRANSLATORS.get(harnessId)?.(options)
}

const TRANSLATORS: ReadonlyMap<HarnessId, (options: TranslatorOptions) => Translator> = new Map([
  [CLAUDE_CODE, createClaudeTranslator],
])

export const TRANSLATABLE_HARNESSES: readonly HarnessId[] = [...TRANSLATORS.keys()]
