import type { SessionStatus } from '../../../src/state/server/answers.ts'
import { aStatus } from '../statuses.ts'
import { nativePage, nativePiece } from './native-lines.ts'
import type { Answers, CannedState } from './state.ts'

/** A machine that is away keeps its sessions as they are; if none is left to do it with it is an error. */
function several(api: CannedState, sessionIds: string[], act: (id: string) => void) {
  const away = sessionIds.filter(id => (api.statuses.get(id)?.machine?.state ?? 'here') !== 'here')
  const done = sessionIds.filter(id => !away.includes(id))
  const message = 'The machine studio cannot be reached now. Nothing was done.'
  if (done.length === 0) throw new Error(message)
  for (const id of done) act(id)
  return { done, failed: away.length === 0 ? [] : [{ sessionIds: away, code: 'machine-away', message }] }
}

/** Sessions, their turns and their processes. */
export function sessionAnswers(api: CannedState): Answers {
  return {
    'sessions.list': () => ({
      cursor: null,
      sessions: [...api.statuses.values()].map(status => ({
        ...status,
        id: status.sessionId,
        status: 'idle',
        settings: api.settings[status.sessionId] ?? {},
        progress: { lastLine: status.lastLine },
      })),
    }),
    'sessions.get': ({ sessionId }: { sessionId: string }) => ({
      ...api.statuses.get(sessionId),
      settings: api.settings[sessionId] ?? {},
    }),
    'sessions.create': () => ({ id: [...api.statuses.keys()][0] }),
    'sessions.fork': () => ({ id: [...api.statuses.keys()][0] }),
    'sessions.forkHistory': ({ atSeq }: { atSeq?: number }) => (atSeq === undefined ? 'account' : 'cut'),
    'sessions.history': ({
      sessionId,
      before,
      limit,
    }: {
      sessionId: string
      before?: number
      limit: number
    }) =>
      (api.logs.get(sessionId) ?? [])
        .filter(({ seq }) => seq < (before ?? Number.POSITIVE_INFINITY))
        .slice(-limit),
    'sessions.export': ({ sessionId, after = 0 }: { sessionId: string; after?: number }) => ({
      text: (api.logs.get(sessionId) ?? [])
        .filter(({ seq }) => seq > after)
        .map(envelope => JSON.stringify(envelope))
        .join('\n'),
      next: null,
    }),
    'sessions.nativeLines': (input: { sessionId: string; before?: string; after?: string }) =>
      nativePage(api.native.get(input.sessionId) ?? [], input),
    'sessions.nativeLine': ({ sessionId, id, from }: { sessionId: string; id: string; from: number }) =>
      nativePiece(api.native.get(sessionId)?.find(line => line.id === id)?.text ?? '', id, from),
    'sessions.usage': ({ days }: { days: number }) => api.usage(days),
    'sessions.configure': ({ sessionId, mode, ...settings }: { sessionId: string; mode?: never }) => {
      api.settings[sessionId] = { ...api.settings[sessionId], ...settings }
      if (mode) api.setStatus(sessionId, { mode })
      return { id: sessionId }
    },
    'sessions.shelve': ({ sessionIds, shelf }: { sessionIds: string[]; shelf: SessionStatus['shelf'] }) =>
      several(api, sessionIds, id => api.setStatus(id, { shelf })),
    'sessions.discard': ({ sessionIds }: { sessionIds: string[] }) => {
      const outcome = several(api, sessionIds, id => {
        api.discarded.set(id, api.statuses.get(id) ?? aStatus())
        api.remove(id)
      })
      return { ...outcome, undoSeconds: 60 }
    },
    'sessions.restore': ({ sessionIds }: { sessionIds: string[] }) =>
      several(api, sessionIds, id => api.setStatus(id, api.discarded.get(id) ?? {})),
    'sessions.native': ({ harness }: { harness: string }) => {
      const fault = api.nativeFaults.get(harness)
      if (fault !== undefined) throw new Error(fault)
      return { sessions: api.nativeSessions.filter(session => session.harness === harness), faults: [] }
    },
    'sessions.import': () => ({ id: [...api.statuses.keys()][0] }),
    'sessions.readMarks': () => api.readMarks,
    'sessions.markRead': () => null,
    'sessions.search': () => ({ hits: api.hits, unreadable: [] }),
    'turns.setPermissionMode': () => ({ from: api.modeFrom }),
    'turns.send': () => ({ turnId: 't2' }),
    'turns.steer': () => ({ steered: true }),
    'turns.contextUsage': () => api.context,
    'system.processes': ({ sessionId }: { sessionId: string }) => [
      { sessionId, turnId: 't1', harness: 'claude-code', processes: api.processes },
    ],
    'system.endProcess': ({ pid }: { pid: number }) => {
      api.processes = api.processes.filter(one => one.pid !== pid)
      return { ended: 1, left: 0 }
    },
  }
}
