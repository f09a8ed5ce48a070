import type { NewSchedule, ScheduleWithRuns } from '../../../src/state/server/answers.ts'
import type { Answers, CannedState } from './state.ts'

/** Loops, schedules, worktrees, reviews and files. */
export function workAnswers(api: CannedState): Answers {
  return {
    'loops.files': () => api.taskFiles,
    'loops.plan': () => api.loopPlan,
    'loops.get': ({ loopId }: { loopId: string }) => api.loops.find(loop => loop.loopId === loopId),
    'loops.task': () => api.loopDetails,
    'loops.start': () => api.loops[0],
    'loops.stop': () => api.loops[0],
    'loops.resume': () => api.loops[0],
    'loops.accept': () => ({ commit: 'abc', into: 'main', tasks: ['one'] }),
    'loops.revert': () => api.loops[0],
    'schedules.list': () => api.schedules.map(({ runs: _runs, earlier: _earlier, ...shown }) => shown),
    'schedules.get': ({ id }: { id: string }) => api.schedules.find(schedule => schedule.id === id),
    'schedules.preview': () => ({ times: ['2030-06-03T04:00:00.000Z'], words: 'Monday to Friday at 06:00' }),
    'schedules.add': (input: NewSchedule) => changeSchedule(api, undefined, input),
    'schedules.change': ({ id, ...input }: Partial<NewSchedule> & { id: string }) =>
      changeSchedule(api, id, input),
    'schedules.pause': ({ id }: { id: string }) => changeSchedule(api, id, { isPaused: true }),
    'schedules.resume': ({ id }: { id: string }) => changeSchedule(api, id, { isPaused: false }),
    'schedules.run': ({ id }: { id: string }) => changeSchedule(api, id, { isRunning: true }),
    'schedules.remove': ({ id }: { id: string }) => {
      api.schedules = api.schedules.filter(schedule => schedule.id !== id)
      api.tellOfSchedules()
      return {}
    },
    'worktrees.plan': () => api.worktreePlan,
    'worktrees.list': () => api.worktrees,
    'worktrees.overlaps': () => api.overlaps,
    'worktrees.restore': ({ id }: { id: string }) => {
      for (const worktree of api.worktrees) if (worktree.id === id) worktree.condition = 'ready'
      return null
    },
    'fleet.machines': () => api.machines,
    'fleet.info': () => api.fleetInfo,
    'fleet.place': () => api.placement,
    'fleet.sendCopies': ({ send }: { send: boolean }) => {
      if (api.fleetInfo) api.fleetInfo = { ...api.fleetInfo, copies: { sends: send, isFixed: false } }
      return null
    },
    'files.blame': ({ path }: { path: string }) => api.blames[path] ?? null,
    'files.diff': () => ({ patch: api.patch, files: api.changed, truncated: false }),
    'files.turnDiff': () => ({ patch: api.patch, files: api.changed, truncated: false, source: 'git' }),
    'files.tree': ({ path }: { path: string }) => ({
      path,
      left: 0,
      entries: (api.files[path] ?? []).map(entry => ({
        ...entry,
        path: entry.name,
        sizeBytes: 10,
        modifiedAt: '',
      })),
    }),
    'files.find': ({ query }: { query: string }) =>
      ['src/ndjson.ts', 'src/ndjson.test.ts', 'docs/api.md'].filter(file => file.includes(query)),
    'files.read': ({ path }: { path: string }) => ({
      kind: 'text',
      path,
      text: api.texts[path] ?? `export const path = '${path}'\n`,
      truncated: false,
      sizeBytes: 20,
      modifiedAt: '',
    }),
    'review.state': () => api.review,
    'review.file': ({ path, side }: { path: string; side: 'old' | 'new' }) => api.reviewed(path, side),
  }
}

function changeSchedule(
  api: CannedState,
  id: string | undefined,
  fields: Partial<ScheduleWithRuns>,
): ScheduleWithRuns | undefined {
  const [first] = api.schedules
  if (id === undefined && first !== undefined)
    api.schedules = [...api.schedules, { ...first, ...fields, id: 'added-1', last: null, runs: [] }]
  else api.schedules = api.schedules.map(one => (one.id === id ? { ...one, ...fields } : one))
  api.tellOfSchedules()
  return api.schedules.find(one => one.id === (id ?? 'added-1'))
}
