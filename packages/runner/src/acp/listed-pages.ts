import { asObjects, asText, type JsonObject } from '../common/json.ts'
import type { AcpAgent } from './acp-agent.ts'

export interface ListedPage {
  /** Undefined if the answer has no list. */
  sessions: JsonObject[] | undefined
  /** The agent says that no page follows. False on every page of a list that never comes to an end. */
  isLast: boolean
}

/**
 * The conversations that the agent names (`session/list`), page by page. Of one folder where one is given, which an agent may
 * ignore. A list is left where it names the same page again, and after MAX_PAGES.
 */
export async function* listedPages(
  agent: AcpAgent,
  cwd: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ListedPage> {
  const cursors = new Set<string>()
  let cursor: string | undefined
  do {
    const params = { ...(cwd ? { cwd } : {}), ...(cursor ? { cursor } : {}) }
    const { sessions, nextCursor } = await agent.request('session/list', params, signal)
    cursor = asText(nextCursor)
    yield {
      sessions: Array.isArray(sessions) ? asObjects(sessions) : undefined,
      isLast: cursor === undefined,
    }
    if (cursor === undefined || cursors.has(cursor)) return
    cursors.add(cursor)
  } while (cursors.size < MAX_PAGES)
}

const MAX_PAGES = 1_000
