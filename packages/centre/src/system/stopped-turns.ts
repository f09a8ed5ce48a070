import { findAllMarked, isEnclosing, type MarkedProcess } from '@chirality/runner'
import type { LiveSession, SessionHost } from '@chirality/sessions'
import type { z } from 'zod'
import type { leftovers } from '../shapes/sessions.ts'
import { hasAgent, isSame, type TracedProcess, tracedProcesses } from './session-processes.ts'

export type TurnLeftovers = NonNullable<z.infer<typeof leftovers>>

/** Stores which processes a turn had when it was stopped, because its own record is deleted with the turn. */
export class StoppedTurns {
  readonly #host: SessionHost
  readonly #traced = new Map<string, readonly TracedProcess[]>()

  constructor(host: SessionHost) {
    this.#host = host
  }

  async note({ id, status }: Pick<LiveSession, 'id' | 'status'>): Promise<void> {
    const traced = await tracedProcesses(status.projectRoot, id)
    // At the end of the turn the record may already be deleted, so the earlier list counts.
    if (traced && traced.processes.length > 0) this.#traced.set(id, traced.processes)
  }

  /**
   * Null if it is not known: nothing was stored, or the running processes belong to several sessions that share one
   * agent. If nothing runs, that holds for each of them.
   */
  async leftovers({ id }: Pick<LiveSession, 'id'>): Promise<TurnLeftovers | null> {
    const traced = this.#traced.get(id)
    if (!traced) return null
    const markers = new Set(traced.map(({ marker }) => marker))
    const marked = (await findAllMarked()).filter(entry => entry.markers.some(marker => markers.has(marker)))
    const agents = hasAgent(traced) ? marked.filter(entry => traced.some(agent => isSame(agent, entry))) : []
    const left = marked.filter(entry => !agents.includes(entry) && !agents.some(isGroupOf(entry)))
    if (left.length > 0 && (await this.#isShared(id, traced))) return null
    return { agentKept: agents.length > 0, left: left.length, sure: isEnclosing() }
  }

  async #isShared(id: string, traced: readonly TracedProcess[]): Promise<boolean> {
    const others = this.#host
      .statuses()
      .filter(({ phase, sessionId }) => phase !== 'idle' && sessionId !== id)
    const all = await Promise.all(others.map(other => tracedProcesses(other.projectRoot, other.sessionId)))
    const markers = new Set(all.flatMap(one => one?.processes.map(({ marker }) => marker) ?? []))
    return traced.some(({ marker }) => markers.has(marker))
  }
}

/** MCP servers that an agent keeps are in its process group; commands of its tools have groups of their own. */
function isGroupOf({ groupId }: MarkedProcess): (agent: MarkedProcess) => boolean {
  return agent => agent.groupId === groupId
}
