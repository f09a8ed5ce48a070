import type { FleetLocal, FleetService, RemoteSession } from '@chirality/centre'
import type { SessionLog } from '@chirality/sessions'
import { createWorld } from './agents.ts'
import { startTestServer, type TestServer } from './test-server.ts'

export interface TwoMachines {
  hub: TestServer
  worker: TestServer & { project: string }
  /** What the hub called on the worker. */
  calls: string[]
  /** The worker is not heard any more. */
  goAway(): void
}

/** A hub and a worker in one process, without brokers: the hub reads the worker's logs, and its calls are answered there. */
export async function twoMachines(answers: Parameters<typeof createWorld>[0]): Promise<TwoMachines> {
  const world = await createWorld(answers)
  let local: FleetLocal | undefined
  let state: 'here' | 'away' = 'here'
  const calls: string[] = []
  const known = new Map<string, RemoteSession>()
  const listeners = new Set<(sessionId: string) => void>()
  const here: Partial<FleetService> = {
    start: given => {
      local = given
    },
    info: () => ({ machine: 'build-1', role: 'worker' }) as ReturnType<FleetService['info']>,
    ...{ sessions: () => [], session: () => undefined, machineOf: () => undefined },
    ...{ onChange: () => () => {}, spentElsewhere: () => [], close: async () => {} },
  }
  const worker = await startTestServer({
    ...{ harnesses: world.harnesses(), projects: [world.project], fleet: here as FleetService },
  })
  const hear = async (sessionId: string) => {
    const session = await worker.host.store.get(sessionId)
    if (session === undefined) known.delete(sessionId)
    else {
      const status = worker.host.openSession(sessionId)?.status ?? null
      known.set(sessionId, { machine: 'build-1', session, status })
    }
    for (const listener of [...listeners]) listener(sessionId)
  }
  worker.host.onStatus(({ sessionId }) => void hear(sessionId))
  const call: FleetService['call'] = async (_, asked) => {
    calls.push(asked.path)
    return local?.answer(asked)
  }
  const fleet: Partial<FleetService> = {
    ...{ start: () => {}, close: async () => {}, spentElsewhere: () => [], call },
    info: () => ({ machine: 'hub', role: 'hub' }) as ReturnType<FleetService['info']>,
    ...{ sessions: () => [...known.values()], session: id => known.get(id) },
    ...{ machineOf: id => known.get(id)?.machine, stateOf: () => state },
    onChange: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    create: async (machine, input) => {
      const session = (await call(machine, { path: 'sessions.create', input })) as RemoteSession['session']
      known.set(session.id, { machine, session, status: null })
      return session
    },
    log: async id => mirrored((await worker.host.session(id)).log),
  }
  const hub = await startTestServer({ fleet: fleet as FleetService })
  return {
    ...{ hub, calls, worker: { ...worker, project: world.project } },
    goAway: () => {
      state = 'away'
      for (const id of known.keys()) for (const listener of [...listeners]) listener(id)
    },
  }
}

/** Whoever closes it does not close the worker's own. */
function mirrored(log: SessionLog): SessionLog {
  return new Proxy(log, {
    get: (target, name) => {
      if (name === 'close') return async () => {}
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
