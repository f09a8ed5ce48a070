import type { HarnessId } from '../session/session.ts'
import { ACP_ID_PREFIX, createAcpTranslator } from './acp/acp-translator.ts'
import { CLAUDE_TRANSLATORS } from './claude/claude-translator.ts'
import { CODEX_TRANSLATORS } from './codex/voice.ts'
import { MESSAGES_API_TRANSLATORS } from './messages-api/messages-api-translator.ts'
import type { HarnessTranslators, Translator, TranslatorOptions } from './shared.ts'

/** Undefined for a harness whose output is no NDJSON that a translator exists for. */
export function createTranslator(harnessId: HarnessId, options: TranslatorOptions): Translator | undefined {
  // Any number of agents speak the same protocol.
  if (harnessId.startsWith(ACP_ID_PREFIX)) return createAcpTranslator({ ...options, harness: harnessId })
  return TRANSLATORS.get(harnessId)?.(options)
}

/** Each agent's folder says which harnesses print in its format. */
const TRANSLATORS: ReadonlyMap<HarnessId, HarnessTranslators[string]> = new Map(
  [CLAUDE_TRANSLATORS, CODEX_TRANSLATORS, MESSAGES_API_TRANSLATORS].flatMap(own => Object.entries(own)),
)

export const TRANSLATABLE_HARNESSES: readonly HarnessId[] = [...TRANSLATORS.keys()]
