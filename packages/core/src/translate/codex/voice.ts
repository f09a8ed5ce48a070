import type { CodexEvent } from '../../native/codex/codex-event.ts'
import type { HarnessTranslators } from '../shared.ts'
import { createCodexAppServerTranslator } from './app-server-translator.ts'
import { type CodexTranslator, translatorOf } from './codex-translator.ts'
import { createCodexExecTranslator } from './exec-translator.ts'
import { createCodexState } from './state.ts'
import { CODEX_HARNESS, unknownOfCodex } from './ui.ts'

/** The harness whose spools this reads. */
export const CODEX_TRANSLATORS: HarnessTranslators = { [CODEX_HARNESS]: createCodexTranslator }

/** For a spool of either protocol, which is recognised by its first line. */
export function createCodexTranslator(options: { sessionId: string }): CodexTranslator {
  const state = createCodexState(options)
  const undecided = translatorOf(state, event => {
    if (event.type === 'unknown') return [unknownOfCodex(state, event.nativeType, event.raw)]
    chosen = choose(event, options)
    return chosen.translate(event)
  })
  let chosen = undecided
  return {
    translate: event => chosen.translate(event),
    translateRecord: record => chosen.translateRecord(record),
    end: () => chosen.end(),
    get outcome() {
      return chosen.outcome
    },
    get nativeSessionId() {
      return chosen.nativeSessionId
    },
    get usageTotal() {
      return chosen.usageTotal
    },
  }
}

function choose(event: CodexEvent, options: { sessionId: string }): CodexTranslator {
  return event.type === undefined
    ? createCodexAppServerTranslator(options)
    : createCodexExecTranslator(options)
}
