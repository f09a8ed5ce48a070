import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UIEvent } from '@chirality/core'
import { afterEach, beforeEach } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { SessionStore, type SessionStoreOptions } from '../../src/store/session-store.ts'
import type { StoredSession } from '../../src/store/stored-session.ts'

/** A user's data folder of its own for each test, and stores that use it. */
export function useStore() {
  let home = ''
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'chirality-home-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))
  return {
    get home() {
      return home
    },
    open: (options: SessionStoreOptions = {}) => new SessionStore({ home, now: clock(), ...options }),
  }
}

/** A clock that moves on by a second each time it is read. */
function clock() {
  let time = Date.parse('2026-02-07T10:00:00.000Z')
  return () => {
    time += 1000
    return new Date(time)
  }
}

/** A session with one turn in its log. */
export async function withTurn(store: SessionStore, projectRoot: string): Promise<StoredSession> {
  const session = await store.create(projectRoot, 'DECOMP', 'workbench')
  await appendTurn(session, 'Fix the bug')
  return session
}

export async function appendTurn(
  { id: sessionId, projectRoot }: StoredSession,
  message: string,
  { open = false } = {},
): Promise<void> {
  const log = await openSessionLog(projectRoot, sessionId)
  const usage = { input_tokens: 1, output_tokens: 2 }
  const events: UIEvent[] = [
    { type: 'turn:start', sessionId, message },
    {
      type: 'session:init',
      sessionId,
      claudeSessionId: 'native-1',
      model: 'm1',
      tools: [],
      harness: 'claude-code',
    },
    { type: 'session:complete', sessionId, costUsd: 0.1, usage },
    { type: 'session:complete', sessionId, costUsd: 0.2, usage },
  ]
  if (!open) events.push({ type: 'turn:end', sessionId, reason: 'completed' })
  for (const event of events) log.append(event, { turnId: 'turn-1' })
  await log.close()
}
