import type { FleetLocal } from '@chirality/centre'
import { HarnessError } from '@chirality/core'
import type { StoredSession } from '@chirality/sessions'
import type { FleetMemberOptions } from './fleet-member-options.ts'
import { type Beat, beatOf, busyIn } from './machines.ts'
import { summedSpending } from './spent-list.ts'

/** This machine as its beats describe it, and its own sessions. It has none before its server has started. */
export class ThisMachine {
  readonly #options: Pick<FleetMemberOptions, 'labels' | 'slots' | 'onFault'>
  #local: FleetLocal | undefined
  #agents: Beat['agents'] = []
  #repositories: Beat['repositories'] = []
  #spent: Beat['spent'] = []

  constructor(options: Pick<FleetMemberOptions, 'labels' | 'slots' | 'onFault'>) {
    this.#options = options
  }

  start(local: FleetLocal): void {
    this.#local = local
  }

  async session(id: string): Promise<StoredSession | undefined> {
    return this.#local?.host.store.get(id).catch(() => undefined)
  }

  async has(session: string): Promise<boolean> {
    return (await this.session(session)) !== undefined
  }

  /** True if a move of the session has started and not ended. */
  isLeaving(session: string): boolean {
    return this.#local?.host.moves.leaving(session) !== undefined
  }

  /** Number of turns that run. */
  get busy(): number {
    return this.#local === undefined ? 0 : busyIn(this.#local.host)
  }

  /** Asks for the installed agents. There are none if that failed, or if the server was stopped meanwhile. */
  async readAgents({ agents }: Pick<FleetLocal, 'agents'>): Promise<void> {
    try {
      this.#agents = await agents()
    } catch (error) {
      const isStopped = error instanceof HarnessError && error.code === 'aborted'
      if (!isStopped) this.#options.onFault?.(error)
    }
  }

  async readProjects(local: FleetLocal): Promise<void> {
    this.#repositories = await local.repositories()
    this.#spent = summedSpending(await local.spent())
  }

  beat(local: FleetLocal, { role, copies }: Pick<Beat, 'role' | 'copies'>): Beat {
    const { labels, slots } = this.#options
    const read = { agents: this.#agents, repositories: this.#repositories, spent: this.#spent }
    return beatOf(local, { role, labels, slots, copies, ...read })
  }
}
