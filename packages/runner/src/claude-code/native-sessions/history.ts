import { createClaudeTranslator, parseClaudeEvent, type TurnEndReason, type UIEvent } from '@chirality/core'
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { NativeHistory } from '../../native-sessions/history.ts'
import { COMPACT_BOUNDARY } from './conversation.ts'
import { promptOf } from './prompt.ts'

export interface ClaudeFacts {
  sessionId: string
  nativeSessionId: string
  cwd: string
  /** Used for lines without a time. */
  at: string
  gap: { missing: number; reason: string } | undefined
}

/** Reads a stored conversation with the translator of the live stream, so that both give the same events. */
export function claudeHistory(lines: readonly JsonObject[], facts: ClaudeFacts): NativeHistory {
  const { sessionId } = facts
  const history = new NativeHistory(sessionId, facts.at)
  if (facts.gap) history.addGap(facts.gap)
  const translator = createClaudeTranslator({ sessionId })
  const answer = new LastAnswer()
  const usage = new UsageEvents(sessionId)
  const endTurn = () => {
    if (!history.hasTurn) return
    if (answer.failure !== undefined) history.add(failureEvents(translator, answer.failure))
    history.endTurn(answer.reason)
  }
  let isIntroduced = false
  for (const line of lines) {
    const at = asText(line.timestamp)
    const prompt = promptOf(line)
    if (prompt) {
      endTurn()
      answer.reset()
      const { text: message, attachments } = prompt
      history.startTurn({ id: String(line.uuid), message, attachments }, at)
      if (!isIntroduced) history.add([introduction(lines, facts)])
      isIntroduced = true
    } else {
      const event = nativeEvent(line)
      answer.see(line, event)
      if (event) history.add(translator.translate(parseClaudeEvent(event)), at)
      history.add(usage.of(line))
    }
  }
  history.add(translator.end())
  endTurn()
  return history
}

type Translator = ReturnType<typeof createClaudeTranslator>

/**
 * The live stream gives the reason of a failure in the result. The file stores no results, so one is made from the
 * text.
 */
function failureEvents(translator: Translator, text: string): UIEvent[] {
  const events = translator.translate({ type: 'result', subtype: 'success', is_error: true, result: text })
  return events.filter(event => event.type === 'session:error')
}

/** The state of the latest turn, as far as the file shows it. */
class LastAnswer {
  failure: string | undefined
  #reason: TurnEndReason = 'interrupted'

  get reason(): TurnEndReason {
    return this.failure === undefined ? this.#reason : 'failed'
  }

  reset(): void {
    this.failure = undefined
    this.#reason = 'interrupted'
  }

  see(line: JsonObject, event: JsonObject | undefined): void {
    if (event?.subtype === LOCAL_OUTPUT) this.#reason = 'completed'
    else if (line.type === 'user') this.#reason = 'interrupted'
    if (line.type !== 'assistant') return
    const { content, stop_reason: stopReason } = asObject(line.message)
    const failed = line.isApiErrorMessage === true || asText(line.error) !== undefined
    this.failure = failed ? textOf(content) : undefined
    // A tool call without a result was never answered.
    this.#reason = stopReason === 'tool_use' || hasCall(content) ? 'interrupted' : 'completed'
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.flatMap(block => asText(asObject(block).text) ?? []).join('\n') : ''
}

function hasCall(content: unknown): boolean {
  return Array.isArray(content) && content.some(block => asObject(block).type === 'tool_use')
}

/** Usage in the file is final, unlike in the stream, and repeated with every block: one event for each message. */
class UsageEvents {
  readonly #sessionId: string
  readonly #told = new Set<unknown>()

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  of(line: JsonObject): UIEvent[] {
    const { id, usage } = asObject(line.message)
    if (!isSaid(line) || this.#told.has(id)) return []
    this.#told.add(id)
    const counts = asObject(usage)
    const input = asNumber(counts.input_tokens)
    const output = asNumber(counts.output_tokens)
    if (input === undefined || output === undefined) return []
    const cache = {
      cache_read_input_tokens: asNumber(counts.cache_read_input_tokens) ?? 0,
      cache_creation_input_tokens: asNumber(counts.cache_creation_input_tokens) ?? 0,
    }
    const total = { input_tokens: input, output_tokens: output, ...cache }
    return [{ type: 'usage', sessionId: this.#sessionId, usage: total }]
  }
}

const SYNTHETIC = '<synthetic>'

/** The agent's model, version and mode at its last message: a resumed session continues with these. */
function introduction(lines: readonly JsonObject[], facts: ClaudeFacts): UIEvent {
  const model = lines.findLast(line => isSaid(line))
  const version = lines.findLast(line => asText(line.version))
  return {
    type: 'session:init',
    sessionId: facts.sessionId,
    claudeSessionId: facts.nativeSessionId,
    model: asText(asObject(model?.message).model) ?? '',
    tools: [],
    harness: 'claude-code',
    cwd: facts.cwd,
    ...(version ? { version: String(version.version) } : {}),
  }
}

function isSaid(line: JsonObject): boolean {
  const model = asText(asObject(line.message).model)
  return line.type === 'assistant' && model !== undefined && model !== SYNTHETIC
}

/** A line of the file as the stream would have printed it. Undefined for a line that only the agent uses. */
function nativeEvent(line: JsonObject): JsonObject | undefined {
  if (line.isMeta === true || line.isCompactSummary === true) return undefined
  const output = localOutput(line)
  if (output !== undefined) return { type: 'system', subtype: LOCAL_OUTPUT, uuid: line.uuid, content: output }
  if (isFiller(line)) return undefined
  if (line.type === 'assistant') {
    return { ...line, is_api_error_message: line.isApiErrorMessage, api_error_status: line.apiErrorStatus }
  }
  if (line.type === 'user') return { ...line, tool_use_result: line.toolUseResult }
  if (line.type === 'system' && line.subtype === COMPACT_BOUNDARY) return { ...line }
  const { type, prompt, commandMode = 'prompt' } = asObject(line.attachment)
  // Queued while a turn ran, so it has no user line of its own.
  if (type === 'queued_command' && commandMode === 'prompt')
    return { type: 'user', message: { content: prompt } }
  return undefined
}

const LOCAL_OUTPUT = 'local_command_output'

/** The output of a command that the agent ran itself, without a model. */
function localOutput(line: JsonObject): string | undefined {
  const text = asText(line.type === 'system' ? line.content : asObject(line.message).content)
  const tagged = /^\s*<(local-command|bash)-std(?:out|err)>/.test(text ?? '')
  return tagged ? text?.replace(/<\/?(local-command|bash)-std(out|err)>/g, '').trim() : undefined
}

/** A placeholder for the model's answer to a local command, which the API requires. */
function isFiller(line: JsonObject): boolean {
  const { model, content } = asObject(line.message)
  const [block, ...more] = asObjects(content)
  return model === '<synthetic>' && more.length === 0 && block?.text === 'No response requested.'
}
