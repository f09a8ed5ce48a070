import { NO_COST, type UIEvent } from '@chirality/core'
import { openSessionLog, SessionStore, type StoredSession, userDataFolder } from '@chirality/sessions'
import type { World } from './world.ts'

/** An event without its session. */
export type LooseEvent = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

/** The store that a world's commands use. */
export function storeOf({ env }: Pick<World, 'env'>): SessionStore {
  return new SessionStore({ home: userDataFolder(env) })
}

/** A session of the world with one turn, or with these events, a second apart. */
export async function stored(
  world: Pick<World, 'env' | 'project'>,
  title: string,
  events: LooseEvent[] = turn('Where is the heron?', 'In the lake.'),
): Promise<StoredSession> {
  const store = storeOf(world)
  const { id } = await store.create(world.project, null, 'direct', { title })
  let time = Date.UTC(2026, 0, 1)
  const now = () => {
    time += 1000
    return new Date(time)
  }
  const log = await openSessionLog(world.project, id, { now })
  for (const event of events) log.append({ ...event, sessionId: id } as UIEvent, { turnId: 't1' })
  await log.close()
  const turnCount = events.filter(({ type }) => type === 'turn:start').length
  return store.update(id, {
    turnCount,
    lastSeq: events.length,
    ledger: { ...NO_COST, statedUsd: 0.25, highUsd: 0.25 },
    costUsd: 0.25,
    harness: 'claude-code',
  })
}

export function turn(message: string, answer: string): LooseEvent[] {
  return [
    { type: 'turn:start', message },
    { type: 'chat:message', messageId: 'm', text: answer },
    { type: 'turn:end', reason: 'completed' },
  ]
}
