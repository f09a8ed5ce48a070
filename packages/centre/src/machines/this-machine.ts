import { answerHub } from '../answer.ts'
import type { Centre } from '../centre.ts'
import type { FleetLocal } from '../machines.ts'
import { toldByWork } from '../push/told-by-work.ts'
import { budgetKey, repositoryKey } from './repository-key.ts'

/** This machine as its fleet sees it. */
export function thisMachine(centre: Centre): FleetLocal {
  const { discarded, harnesses, host, projects, removed, version } = centre
  return {
    host,
    version,
    answer: call => answerHub(centre, call),
    onRemoved: listener => removed.onRemoved(listener),
    isDiscarded: sessionId => discarded.has(sessionId),
    toldByWork: sessionId => toldByWork(centre, sessionId),
    left: sessionId => removed.tell(sessionId),
    spent: async () => {
      // Also those that are not open: what they cost is spent.
      const registered = (await projects.list()).map(({ root }) => root)
      const roots = [...new Set([...host.projects(), ...registered])]
      const each = await Promise.all(
        roots.map(async root => {
          const key = await budgetKey(root)
          // No turn of a project begins whose limits cannot be read.
          const spent = key && (await host.spent(root).catch(() => undefined))
          return spent ? [{ key, ...spent }] : []
        }),
      )
      return each.flat()
    },
    repositories: () =>
      Promise.all(host.projects().map(async root => ({ root, key: await repositoryKey(root) }))),
    agents: async () => {
      const found = await harnesses.checkAllInstallStatus()
      return harnesses.getAll().map(harness => {
        const { id, name } = harness.meta()
        const status = found.get(id)
        return {
          id,
          name,
          installed: status?.installed === true,
          loggedIn: status?.installed === true && status.authenticated !== false,
          version: status?.version ?? null,
        }
      })
    },
  }
}
