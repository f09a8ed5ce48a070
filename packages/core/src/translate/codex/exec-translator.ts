import type { UIEvent, UsageInfo } from '../../events/ui-event.ts'
import { allTokens } from '../../money/cost.ts'
import type { CodexEvent } from '../../native/codex/codex-event.ts'
import { asObject, asText } from '../../native/loose.ts'
import { type CodexTranslator, translatorOf } from './codex-translator.ts'
import { type CodexAgentFacts, type CodexState, createCodexState, startCodexTurn } from './state.ts'
import { translateItem } from './tools/items.ts'
import { readCounts } from './turn/meter.ts'
import { translateError } from './turn/retries.ts'
import { announce } from './turn/session-init.ts'
import { endTurn } from './turn/turn-end.ts'
import { unknownOfCodex } from './ui.ts'

export interface CodexExecTranslatorOptions {
  /** Chirality's session id, on every UI event. */
  sessionId: string
  /**
   * Chirality's turn id. Items count from `item_0` in every process, so without it two turns of a session would share
   * ids.
   */
  turnId?: string
  /**
   * The thread's tokens before this process, `usageTotal` of the previous translator: Codex reports only a running
   * total.
   */
  usageBefore?: UsageInfo
  /** Known to the caller that starts the process; `exec` does not report it. */
  agent?: CodexAgentFacts
  /** A schema was requested: the final message is parsed. */
  expectsJson?: boolean
}

/** Translates the output of one `codex exec --json`. */
export function createCodexExecTranslator(options: CodexExecTranslatorOptions): CodexTranslator {
  const state = createCodexState(options)
  let turns = 0
  const beginTurn = (): void => {
    turns++
    const id = options.turnId ?? state.threadId ?? ''
    startCodexTurn(state, turns === 1 ? id : `${id}.${turns}`)
  }
  return translatorOf(state, event => {
    if (event.type === 'thread.started') {
      state.threadId = asText(event.thread_id) ?? state.threadId
      // Another process in the same spool: its ids start again.
      state.tools.clear()
      beginTurn()
      return announce(state)
    }
    if (event.type === 'turn.started') {
      if (state.turn.id === null || !state.turn.running) beginTurn()
      return []
    }
    return translateEvent(state, event)
  })
}

function failTurn(state: CodexState, message: string | undefined): UIEvent[] {
  const events = endTurn(state, { status: 'failed', failure: message ? { message } : null })
  // When Codex itself finds the context window full, the thread counts its tokens from zero afterwards. What the model API
  // says, in JSON, does not have that effect.
  const full = state.outcome?.errorCode === 'context_overflow' && !message?.startsWith('{')
  if (full) state.meter.reset()
  return events
}

/** A review reports no tokens, which does not mean that it used none. */
function readUsage(state: CodexState, usage: unknown): void {
  const counts = readCounts(usage)
  if (allTokens(counts) > 0) state.meter.read(counts)
}

function translateEvent(state: CodexState, event: CodexEvent): UIEvent[] {
  switch (event.type) {
    case 'item.started':
      return translateItem(state, 'started', event)
    case 'item.updated':
      return translateItem(state, 'updated', event)
    case 'item.completed':
      return translateItem(state, 'completed', event)
    case 'error':
      return translateError(state, { message: asText(event.message) ?? '' }, undefined)
    case 'turn.completed':
      readUsage(state, event.usage)
      return endTurn(state, { status: 'completed' })
    case 'turn.failed':
      return failTurn(state, asText(asObject(event.error)?.message))
    case 'unknown':
      return [unknownOfCodex(state, event.nativeType, event.raw)]
    case undefined:
      return [unknownOfCodex(state, event.method ?? 'response', event)]
    default:
      return []
  }
}
