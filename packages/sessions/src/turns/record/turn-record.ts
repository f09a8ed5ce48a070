import { join } from 'node:path'
import type { HarnessId, TurnProcess, TurnTrace } from '@chirality/core'
import { stopTraced } from '@chirality/runner'
import type { TurnBudget } from '../../budget/limits-of-turn.ts'
import { removeIfThere, TEMPORARY_NAME, writeFileNow } from '../../files/atomic-write.ts'
import { type FileOps, realFileOps } from '../../files/file-ops.ts'
import { ensureProjectFolder, findProjectFolder } from '../../files/project-folder.ts'
import { readSmallFile } from '../../files/read-write.ts'
import { requireSessionId, sessionsWithFiles } from '../../files/session-id.ts'
import { toStorageError } from '../../files/storage-error.ts'
import { parseObject, textOrNull } from '../../store/stored-session.ts'

/** Keeps the record of a turn in step with the processes that print for it. */
export class TurnRecordKeeper {
  readonly #file: TurnRecordFile
  #record: TurnRecord
  #closed = false

  constructor(file: TurnRecordFile, record: TurnRecord) {
    this.#file = file
    this.#record = record
  }

  write(): void {
    this.#file.write(this.#record)
  }

  add(process: TurnProcess): void {
    this.#record = { ...this.#record, processes: [...this.#record.processes, process] }
    this.write()
  }

  /** Another attempt: what the first one printed is in the log up to here. */
  again(afterSeq: number): void {
    this.#record = { ...this.#record, processes: [], afterSeq }
    this.write()
  }

  /** The turn has ended: from here on its file is missing because it is to be. */
  close(): void {
    this.#closed = true
  }

  /** Writes the file again if somebody deleted it. */
  async repair(): Promise<boolean> {
    if (this.#closed || this.#file.exists()) return false
    await this.#file.prepare()
    if (this.#closed) return false
    this.write()
    return true
  }
}

/** What a later host needs to find a turn again, and to tell which of its events the log has. */
export interface TurnRecord extends TurnTrace {
  harness: HarnessId
  /** Events of this attempt come after it; those of an attempt that crashed before. */
  afterSeq: number
  budget: TurnBudget
  /** How long a request of this turn waits for a person; without it, as long as the host says. */
  decisionTimeoutMs?: number
}

/** `.chirality/state/turns/<sessionId>.json`: there from before the agent is started until all of its turn is stored. */
export class TurnRecordFile {
  readonly #projectRoot: string
  readonly #name: string
  readonly #ops: FileOps
  #folder: string | undefined

  constructor(projectRoot: string, sessionId: string, ops: FileOps = realFileOps) {
    this.#projectRoot = projectRoot
    this.#name = `${requireSessionId(sessionId)}.json`
    this.#ops = ops
  }

  /** Must come first: `write` cannot wait. */
  async prepare(): Promise<void> {
    this.#folder = await ensureProjectFolder(this.#projectRoot, ...FOLDER)
  }

  /**
   * At once and without waiting for the disk: it must be there before the agent is given its first word, and a power
   * cut that takes the file takes the agent, too.
   */
  write(record: TurnRecord): void {
    writeFileNow(this.#ops, join(this.#folder ?? '', this.#name), `${JSON.stringify(record)}\n`)
  }

  async read(): Promise<TurnRecord | undefined> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined) return undefined
    const path = join(folder, this.#name)
    try {
      const text = readSmallFile(this.#ops, path, MAX_RECORD_BYTES)
      return text && parseRecord(text.toString('utf8'))
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  exists(): boolean {
    return this.#folder !== undefined && this.#ops.lstat(join(this.#folder, this.#name)) !== undefined
  }

  /** With a turn: unless the record is of another one. */
  async remove(turnId?: string): Promise<void> {
    const record = turnId === undefined ? undefined : await this.read()
    if (record !== undefined && record.turnId !== turnId) return
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined) return
    removeIfThere(this.#ops, join(folder, this.#name))
    // A host that was killed while it wrote has left one. Whoever is here holds the project, and `write` does not pause.
    for (const name of this.#ops.readdir(folder))
      if (name.startsWith(`${this.#name}.`) && TEMPORARY_NAME.test(name))
        removeIfThere(this.#ops, join(folder, name))
  }
}

/** The sessions that have a record: turns that were at work when their host ended. */
export async function sessionsWithRecords(
  projectRoot: string,
  ops: FileOps = realFileOps,
): Promise<string[]> {
  return sessionsWithFiles(projectRoot, FOLDER, ops)
}

const FOLDER = ['state', 'turns']
const MAX_RECORD_BYTES = 16 * 1024 * 1024

/** An agent can write to the file: what is not clearly a record of ours is none. */
function parseRecord(text: string): TurnRecord | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { turnId, startedAt, message, harness, attachments, resumeSessionId, processes } = value
  if (typeof turnId !== 'string' || typeof startedAt !== 'string' || typeof message !== 'string')
    return undefined
  if (typeof harness !== 'string' || !Array.isArray(processes) || !processes.every(isTurnProcess))
    return undefined
  return {
    ...{ turnId, startedAt, message, harness, processes },
    afterSeq: amount(value.afterSeq) ?? 0,
    budget: parseBudget(value.budget),
    ...(value.decisionTimeoutMs === undefined ? {} : { decisionTimeoutMs: waitOf(value.decisionTimeoutMs) }),
    ...(typeof attachments === 'number' ? { attachments } : {}),
    ...(textOrNull(resumeSessionId) === null ? {} : { resumeSessionId: String(resumeSessionId) }),
  }
}

function parseBudget(value: unknown): TurnBudget {
  const { session, turnLimit, personaLimit } = fields(value)
  const spent = fields(session)
  const limit = (from: unknown) => {
    const { usd, tokens, ms } = fields(from)
    return { usd: amount(usd), tokens: amount(tokens), ms: amount(ms) }
  }
  return {
    session: {
      usd: amount(spent.usd) ?? 0,
      tokens: amount(spent.tokens) ?? 0,
      unpricedTokens: amount(spent.unpricedTokens) ?? 0,
      ms: amount(spent.ms) ?? 0,
    },
    turnLimit: limit(turnLimit),
    personaLimit: limit(personaLimit),
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** What is no time was changed by somebody else, and must not make a request wait longer. */
function waitOf(value: unknown): number {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 1
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}

export function isTurnProcess(value: unknown): value is TurnProcess {
  if (typeof value !== 'object' || value === null) return false
  const { pid, spoolOffset, nativeSessionIds, ...texts } = value as Record<string, unknown>
  const { startTime, marker, spoolPath, stderrPath } = texts
  const areTexts = [startTime, marker, spoolPath, stderrPath].every(text => typeof text === 'string')
  const areIds =
    nativeSessionIds === undefined ||
    (Array.isArray(nativeSessionIds) && nativeSessionIds.every(id => typeof id === 'string'))
  return (
    areTexts && areIds && Number.isSafeInteger(pid) && Number(pid) > 0 && Number.isSafeInteger(spoolOffset)
  )
}

/** Stops what is left of a turn, by the processes on its record. Resolves with how many there were. */
export async function stopRecorded({ processes }: TurnRecord): Promise<number> {
  const reports = await Promise.all(processes.map(process => stopTraced(process)))
  return reports.reduce((sum, { stopped }) => sum + stopped.length, 0)
}
