import { createCodexAppServerTranslator, parseCodexEvent, type UIEvent } from '@chirality/core'
import { asNumber, asObjects, asText, type JsonObject } from '../../common/json.ts'
import { NativeHistory } from '../../native-sessions/history.ts'
import { withoutInstructions } from '../options/instructions.ts'
import type { ThreadHistory, ThreadTurn } from '../rollouts/thread.ts'

/** Reads a stored thread with the app-server's translator, so that both give the same events. */
export function codexHistory(thread: ThreadHistory, sessionId: string): NativeHistory {
  const { id: threadId, cwd, model, version, missing } = thread
  const history = new NativeHistory(sessionId, thread.createdAt ?? new Date(0).toISOString())
  if (missing > 0) history.addGap({ missing, reason: "Parts of the agent's files cannot be read." })
  const agent = { cwd, ...(model ? { model } : {}), ...(version ? { version } : {}) }
  const translator = createCodexAppServerTranslator({ sessionId, threadId, agent })
  const tell = (method: string, params: JsonObject): UIEvent[] =>
    translator.translate(parseCodexEvent({ method, params: { threadId, ...params } })).filter(isKnown)

  for (const turn of thread.turns) {
    const { id: turnId, items } = turn
    const first = items.find(item => item.type === 'userMessage')
    history.startTurn({ id: turnId, ...promptOf(first) }, timeOf((first ?? items[0])?.startedAtMs))
    history.add(tell('turn/started', { turn: { id: turnId } }))
    for (const item of items) {
      history.add(tell('item/started', { turnId, item }), timeOf(item.startedAtMs))
      history.add(tell('item/completed', { turnId, item }), timeOf(item.completedAtMs))
    }
    history.add(tell('turn/completed', { turn: ended(turn) }))
    history.endTurn(translator.outcome?.reason ?? 'interrupted', undefined, turn.durationMs)
  }
  return history
}

/** A stored thread has no token counts; a sum of zero would be shown as the cost of the turn. */
function isKnown(event: UIEvent): boolean {
  return event.type !== 'session:complete' && event.type !== 'chat:complete'
}

/** A turn without an end was cut off by a crash, or still runs in another process. */
function ended({ id, status, error, durationMs }: ThreadTurn): JsonObject {
  return { id, status: status === 'inProgress' ? 'interrupted' : status, error: error ?? null, durationMs }
}

function promptOf(item: JsonObject | undefined): { message: string; attachments: number } {
  const parts = asObjects(item?.content)
  return {
    message: withoutInstructions(parts.flatMap(part => asText(part.text) ?? []).join('\n')),
    attachments: parts.filter(part => /image|audio/i.test(String(part.type))).length,
  }
}

function timeOf(ms: unknown): string | undefined {
  const time = asNumber(ms)
  return time === undefined ? undefined : new Date(time).toISOString()
}

/**
 * For a thread that a Codex before 0.155 wrote, the app-server returns the texts but no tool calls; for a thread that
 * its index lacks it returns nothing. The file has all of it.
 */
export async function withToolCalls(
  told: ThreadHistory,
  read: () => Promise<ThreadHistory | undefined>,
): Promise<ThreadHistory> {
  if (told.turns.length > 0 && told.turns.every(hasTools)) return told
  const file = await read()
  if (!file) return told
  const isSameLength = file.turns.length === told.turns.length
  // If turns cannot be matched one by one, the source with more tool calls is used.
  if (!isSameLength && told.turns.some(turn => !findTurn(file, turn)))
    return count(file) > count(told) || told.turns.length === 0 ? { ...told, ...known(file) } : told
  const turns =
    told.turns.length === 0
      ? file.turns
      : told.turns.map((turn, at) => whole(turn, file, isSameLength ? at : -1))
  return { ...told, turns, missing: file.missing }
}

/** Keeps the app-server's facts about the thread, because the file may lack some of them. */
function known(file: ThreadHistory): Partial<ThreadHistory> {
  return { turns: file.turns, missing: file.missing, ...(file.cwd === '' ? {} : { cwd: file.cwd }) }
}

function whole(turn: ThreadTurn, file: ThreadHistory, at: number): ThreadTurn {
  const written = findTurn(file, turn) ?? file.turns[at]
  return written && hasTools(written) && !hasTools(turn) ? { ...turn, items: written.items } : turn
}

function findTurn(file: ThreadHistory, { id }: ThreadTurn): ThreadTurn | undefined {
  return file.turns.find(turn => turn.id === id)
}

function count({ turns }: ThreadHistory): number {
  return turns.reduce((sum, { items }) => sum + items.filter(isTool).length, 0)
}

function hasTools({ items }: ThreadTurn): boolean {
  return items.some(isTool)
}

function isTool({ type }: JsonObject): boolean {
  return !WORDS.has(String(type))
}

const WORDS = new Set(['userMessage', 'agentMessage', 'reasoning', 'plan', 'contextCompaction'])
