import type { JsonObject } from '../../common/json.ts'
import type { ThreadHistory, ThreadTurn } from '../rollouts/thread.ts'

/**
 * The app-server gives the words of a thread that a Codex before 0.155 wrote, and none of its tool calls; of a thread
 * that its index does not have yet it gives nothing. The file has all of it.
 */
export async function withToolCalls(
  told: ThreadHistory,
  read: () => Promise<ThreadHistory | undefined>,
): Promise<ThreadHistory> {
  if (told.turns.length > 0 && told.turns.every(hasTools)) return told
  const file = await read()
  if (!file) return told
  const isSameLength = file.turns.length === told.turns.length
  // Turns that cannot be found one by one: whichever way knows of more calls.
  if (!isSameLength && told.turns.some(turn => !findTurn(file, turn)))
    return count(file) > count(told) || told.turns.length === 0 ? { ...told, ...known(file) } : told
  const turns =
    told.turns.length === 0
      ? file.turns
      : told.turns.map((turn, at) => whole(turn, file, isSameLength ? at : -1))
  return { ...told, turns, missing: file.missing }
}

/** What the app-server said of the thread stays; the file may be without some of it. */
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
