import { randomUUID } from 'node:crypto'
import { createAcpTranslator, type Envelope, type NativeSession, type UIEvent } from '@chirality/core'
import { asObject, asText, type JsonObject } from '../common/json.ts'
import { NativeHistory } from '../native-sessions/history.ts'
import type { AcpMessage } from './acp-agent.ts'
import { isInstructions } from './instructions.ts'

/** The updates of a conversation that an agent repeats. Of a long one the beginning is left out. */
export class RepeatedConversation {
  readonly #nativeSessionId: string
  #updates: ({ update: JsonObject; bytes: number } | undefined)[] = []
  #first = 0
  #keptBytes = 0
  #allBytes = 0
  /** How many updates were left out. */
  left = 0

  constructor(nativeSessionId: string) {
    this.#nativeSessionId = nativeSessionId
  }

  get updates(): JsonObject[] {
    return this.#updates.flatMap(kept => (kept ? [kept.update] : []))
  }

  get limitWords(): string {
    return `${MAX_ALL_BYTES / 1024 ** 3} GB`
  }

  /** False if it is too much. */
  add({ raw, bytes }: AcpMessage): boolean {
    this.#allBytes += bytes
    if (this.#allBytes > MAX_ALL_BYTES) return false
    const { method, params } = asObject(raw)
    const { sessionId, update } = asObject(params)
    // An agent may tell of other conversations meanwhile.
    if (method !== 'session/update' || sessionId !== this.#nativeSessionId) return true
    this.#updates.push({ update: asObject(update), bytes })
    this.#keptBytes += bytes
    while (this.#keptBytes > MAX_KEPT_BYTES && this.#first < this.#updates.length - 1) {
      this.#keptBytes -= this.#updates[this.#first]?.bytes ?? 0
      this.#updates[this.#first] = undefined
      this.#first += 1
      this.left += 1
    }
    if (this.#first > MAX_GONE) {
      this.#updates = this.#updates.slice(this.#first)
      this.#first = 0
    }
    return true
  }
}

const MAX_KEPT_BYTES = 64 * 1024 * 1024
const MAX_ALL_BYTES = 2 * 1024 ** 3
const MAX_GONE = 10_000

export interface RepeatedFacts {
  /** Of the new session. */
  id: string
  known: NativeSession & { updatedAt: string }
  /** How many updates were left out. */
  left: number
  version: string | undefined
}

/**
 * A repeated conversation as a log, through the translator that reads live turns. The protocol repeats what was said and done,
 * but not how a turn ended, and mostly not when: without a time of its own an event has that of the conversation's last change.
 */
export function repeatedHistory(updates: readonly JsonObject[], facts: RepeatedFacts): Envelope[] {
  const { id: sessionId, known, left, version } = facts
  const { harness, nativeSessionId, cwd, updatedAt } = known
  const history = new NativeHistory(sessionId, updatedAt)
  if (left > 0)
    history.addGap({ missing: left, reason: 'The conversation is too long: its beginning is left out.' })
  let turn = null as RepeatedTurn | null
  let hasInit = false
  const init: UIEvent = {
    type: 'session:init',
    sessionId,
    claudeSessionId: nativeSessionId,
    model: 'default',
    tools: [],
    harness,
    cwd,
    ...(version ? { version } : {}),
  }
  const begin = (message: UserMessage) => {
    const id = randomUUID()
    history.startTurn({ id, message: message.text, attachments: message.attachments }, message.at)
    if (!hasInit) history.add([init])
    hasInit = true
    return new RepeatedTurn(history, { sessionId, turnId: id, nativeSessionId, harness })
  }
  let said = null as UserMessage | null
  const hasIds = updates.some(isNamedText)
  for (const update of updates) {
    if (update.sessionUpdate === 'user_message_chunk') {
      if (said?.goesOnWith(update) !== true) {
        if (said) begin(said).end()
        said = new UserMessage(update)
      }
      turn?.end()
      turn = null
      said.add(update)
    } else if (isTold(update) && !(hasIds && isUnnamedText(update))) {
      if (said || !turn) turn = begin(said ?? new UserMessage({}))
      said = null
      turn.add(update)
    }
  }
  if (said) begin(said).end()
  turn?.end()
  // Without it nobody would know whose conversation it is.
  if (!hasInit) history.add([init])
  return history.envelopes
}

/** What was said and done. The state of the agent now, such as its commands, belongs to no turn of the past. */
function isTold({ sessionUpdate }: JsonObject): boolean {
  return TOLD.has(String(sessionUpdate))
}

const TOLD = new Set([
  ...['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'],
  ...['notice', 'compaction_update'],
])

function isNamedText({ sessionUpdate, messageId }: JsonObject): boolean {
  return sessionUpdate === 'agent_message_chunk' && typeof messageId === 'string'
}

/** Where the others have an id, it is no message of the past: codex-acp warns of its set-up so while it loads. */
function isUnnamedText(update: JsonObject): boolean {
  return update.sessionUpdate === 'agent_message_chunk' && !isNamedText(update)
}

class UserMessage {
  readonly #messageId: unknown
  readonly #texts: string[] = []
  readonly at: string | undefined
  attachments = 0

  constructor(update: JsonObject) {
    this.#messageId = update.messageId
    this.at = timeOf(update)
  }

  get text(): string {
    return this.#texts.join('')
  }

  goesOnWith({ messageId }: JsonObject): boolean {
    return messageId === this.#messageId
  }

  add(update: JsonObject): void {
    const block = asObject(update.content)
    const text = block.type === 'text' ? asText(block.text) : (asText(block.uri) ?? resourceUri(block))
    if (text === undefined) this.attachments += block.type === 'text' ? 0 : 1
    else if (!isInstructions(text)) this.#texts.push(text)
  }
}

function resourceUri({ resource }: JsonObject): string | undefined {
  return asText(asObject(resource).uri)
}

interface TurnNames {
  sessionId: string
  turnId: string
  nativeSessionId: string
  harness: string
}

class RepeatedTurn {
  readonly #history: NativeHistory
  readonly #translator: ReturnType<typeof createAcpTranslator>
  readonly #nativeSessionId: string
  /** Ends of calls: an agent may tell what a call printed after its end. */
  readonly #ended = new Map<string, unknown>()
  #hasAnswer = false

  constructor(history: NativeHistory, names: TurnNames) {
    this.#history = history
    this.#nativeSessionId = names.nativeSessionId
    this.#translator = createAcpTranslator(names)
  }

  add(update: JsonObject): void {
    const { sessionUpdate, toolCallId, status } = update
    const isCall = sessionUpdate === 'tool_call' || sessionUpdate === 'tool_call_update'
    if (isCall && typeof toolCallId === 'string' && (status === 'completed' || status === 'failed')) {
      this.#ended.set(toolCallId, status)
      this.#tell({ ...update, status: 'in_progress' })
      return
    }
    if (!isCall) this.#endCalls()
    this.#tell(update)
  }

  end(): void {
    this.#endCalls()
    const open = this.#translator.end()
    this.#history.add(open)
    const isCut = !this.#hasAnswer || open.some(({ type }) => type === 'tool:result')
    this.#history.endTurn(isCut ? 'interrupted' : 'completed')
  }

  #endCalls(): void {
    for (const [toolCallId, status] of this.#ended)
      this.#tell({ sessionUpdate: 'tool_call_update', toolCallId, status })
    this.#ended.clear()
  }

  #tell(update: JsonObject): void {
    const params = { sessionId: this.#nativeSessionId, update }
    const events = this.#translator.translate({ method: 'session/update', params })
    this.#hasAnswer ||= events.length > 0
    this.#history.add(events.filter(isWhole), timeOf(update))
  }
}

/** Parts of texts, and what a call printed while it ran, are in the whole text and in the result. */
function isWhole(event: UIEvent): boolean {
  if (event.type === 'chat:thinking') return event.final === true
  return event.type !== 'chat:delta' && (event.type !== 'status' || event.status !== 'tool_progress')
}

/** Some agents (Qwen Code) tell when something was said, in milliseconds. */
function timeOf({ _meta }: JsonObject): string | undefined {
  const { timestamp } = asObject(_meta)
  if (typeof timestamp !== 'number' || !(Math.abs(timestamp) <= MAX_TIME)) return undefined
  return new Date(timestamp).toISOString()
}

/** The last time that a Date can hold. */
const MAX_TIME = 8.64e15
