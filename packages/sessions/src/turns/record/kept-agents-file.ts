import type { TurnProcess } from '@chirality/core'
import { type FileOps, realFileOps, writeFileNow } from '@chirality/disk'
import { stopTraced } from '@chirality/runner'
import { sessionsWithFiles } from '../../files/session-id.ts'
import { SessionStateFile } from '../../files/session-state-file.ts'
import { parseObject } from '../../store/stored-session.ts'
import { isTurnProcess } from './turn-record.ts'

/**
 * `.chirality/state/agents/<sessionId>.json`: the agents of a session, from their start until the session is closed. A
 * turn's own record is removed with the turn, but a kept agent and its child processes go on running.
 */
export class KeptAgentsFile extends SessionStateFile {
  #path: string | undefined
  #processes: TurnProcess[] = []

  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    super({ projectRoot, sessionId, ops }, { kind: 'agents', ending: '.json' })
  }

  /** Has to be called first, because `add` is synchronous. */
  async prepare(): Promise<void> {
    this.#path = await this.ensurePath()
    this.#processes = await this.read()
  }

  /** Called before the agent gets its first message. */
  add(process: TurnProcess): void {
    if (this.#processes.at(-1)?.marker === process.marker) return
    const others = this.#processes.filter(({ marker }) => marker !== process.marker)
    this.#processes = [...others, process].slice(-MAX_AGENTS)
    const text = JSON.stringify({ processes: this.#processes })
    writeFileNow(this.#path ?? '', text, { ops: this.ops, survives: 'kill' })
  }

  /** An agent can write to the file, so every entry that is not clearly valid is ignored. */
  async read(): Promise<TurnProcess[]> {
    const processes = parseObject((await this.readText(MAX_FILE_BYTES)) ?? '')?.processes
    return Array.isArray(processes) ? processes.filter(isTurnProcess).slice(-MAX_AGENTS) : []
  }
}

/**
 * Stops the agents that a host kept and left running, with their child processes; agents of adopted turns are in use
 * and stay. Resolves with the number of stopped processes.
 */
export async function stopKeptAgents(
  projectRoot: string,
  inUse: ReadonlySet<string>,
  onProblem: (sessionId: string, error: unknown) => void,
): Promise<number> {
  const stopped = new Set<number>()
  for (const sessionId of await sessionsWithFiles(projectRoot, FOLDER, realFileOps)) {
    const file = new KeptAgentsFile(projectRoot, sessionId)
    try {
      const processes = await file.read()
      const left = processes.filter(({ marker }) => !inUse.has(marker))
      const reports = await Promise.all(left.map(process => stopTraced(process)))
      for (const report of reports) for (const pid of report.stopped) stopped.add(pid)
      if (left.length === processes.length) await file.remove()
    } catch (error) {
      onProblem(sessionId, error)
    }
  }
  return stopped.size
}

const FOLDER = ['state', 'agents']
/** A harness ends each agent before it starts the next; more than one is left only if that failed. */
const MAX_AGENTS = 8
const MAX_FILE_BYTES = 1024 * 1024
