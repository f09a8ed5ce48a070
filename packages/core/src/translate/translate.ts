import type { UIEvent } from '../events/ui-event.ts'
import type { NdjsonRecord } from '../ndjson/ndjson-framer.ts'
import type { HarnessId } from '../session/session.ts'
import { createClaudeTranslator } from './claude/claude-translator.ts'
import { HARNESS_ID as CLAUDE_CODE } from './claude/state.ts'
import { HARNESS_ID as CODEX } from './codex/ui.ts'
import { createCodexTranslator } from './codex/voice.ts'
import { createMessagesApiTranslator, HARNESS_ID as MESSAGES_API } from './messages-api-translator.ts'

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

/** It is Claude Code that prints, whoever started it. */
const AGENT_SDK = 'agent-sdk'

type CreateTranslator = (options: TranslatorOptions) => Translator

const TRANSLATORS: ReadonlyMap<HarnessId, CreateTranslator> = new Map<HarnessId, CreateTranslator>([
  [CLAUDE_CODE, createClaudeTranslator],
  [CODEX, createCodexTranslator],
  [AGENT_SDK, options => createClaudeTranslator({ ...options, harness: AGENT_SDK })],
  [MESSAGES_API, createMessagesApiTranslator],
])

export const TRANSLATABLE_HARNESSES: readonly HarnessId[] = [...TRANSLATORS.keys()]
