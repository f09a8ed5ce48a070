import { basename, dirname, join } from 'node:path'
import type { HarnessId, TurnProcess, TurnTrace } from '@chirality/core'
import { type FileOps, realFileOps, removeIfThere, TEMPORARY_NAME, writeFileNow } from '@chirality/disk'
import { stopTraced } from '@chirality/runner'
import type { TurnBudget } from '../../budget/limits-of-turn.ts'
import { sessionsWithFiles } from '../../files/session-id.ts'
import { SessionStateFile } from '../../files/session-state-file.ts'
import { parseObject, textOrNull } from '../../store/stored-session.ts'

/** Updates the record of a turn when its processes change. */
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

  /** Another attempt begins: the first attempt's events are in the log up to here. */
  again(afterSeq: number): void {
    this.#record = { ...this.#record, processes: [], afterSeq }
    this.write()
  }

  /** The turn has ended: from now on a missing file is not restored. */
  close(): void {
    this.#closed = true
  }

  /** Writes the file again if it was deleted. */
  async repair(): Promise<boolean> {
    if (this.#closed || this.#file.exists()) return false
    await this.#file.prepare()
    if (this.#closed) return false
    this.write()
    return true
  }
}

/** The facts by which a later host adopts a turn, and knows which of its events are in the log. */
export interface TurnRecord extends TurnTrace {
  harness: HarnessId
  /** Events of this attempt come after it; those of a crashed attempt come before. */
  afterSeq: number
  budget: TurnBudget
  /** How long a request of this turn waits for a person; the host's default if undefined. */
  decisionTimeoutMs?: number
}

/** `.chirality/state/turns/<sessionId>.json`: exists from before the agent's start until all of its turn is stored. */
export class TurnRecordFile extends SessionStateFile {
  #path: string | undefined

  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    super({ projectRoot, sessionId, ops }, { kind: 'turns', ending: '.json' })
  }

  /** Has to be called first, because `write` is synchronous. */
  async prepare(): Promise<void> {
    this.#path = await this.ensurePath()
  }

  /**
   * Synchronous and without a sync to disk: the file must exist before the agent gets its first message, and a power
   * failure that loses the file also ends the agent.
   */
  write(record: TurnRecord): void {
    writeFileNow(this.#path ?? '', `${JSON.stringify(record)}\n`, { ops: this.ops, survives: 'kill' })
  }

  async read(): Promise<TurnRecord | undefined> {
    const text = await this.readText(MAX_RECORD_BYTES)
    return text === undefined ? undefined : parseRecord(text)
  }

  exists(): boolean {
    return this.#path !== undefined && this.ops.lstat(this.#path) !== undefined
  }

  /** With a turn id, removes only the record of that turn. */
  override async remove(turnId?: string): Promise<void> {
    const record = turnId === undefined ? undefined : await this.read()
    if (record !== undefined && record.turnId !== turnId) return
    await super.remove()
    const path = await this.findPath()
    if (path === undefined) return
    // A host that was killed while writing left a temporary file. This process owns the project, and `write` is
    // synchronous, so the file is not in use.
    const prefix = `${basename(path)}.`
    for (const name of this.ops.readdir(dirname(path)))
      if (name.startsWith(prefix) && TEMPORARY_NAME.test(name))
        removeIfThere(this.ops, join(dirname(path), name))
  }
}

/** The sessions that have a record: their turns were running when their host exited. */
export async function sessionsWithRecords(
  projectRoot: string,
  ops: FileOps = realFileOps,
): Promise<string[]> {
  return sessionsWithFiles(projectRoot, FOLDER, ops)
}

const FOLDER = ['state', 'turns']
const MAX_RECORD_BYTES = 16 * 1024 * 1024

/** An agent can write to the file, so every record that is not clearly valid is ignored. */
function parseRecord(text: string): TurnRecord | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { turnId, startedAt, message, harness, attachments, resumeSessionId, processes } = value
  if (typeof turnId !== 'string' || typeof startedAt !== 'string' || typeof message !== 'string')
    return undefined
  if (typeof harness !== 'string' || !Array.isArray(processes) || !processes.every(isTurnProcess))
    return undefined
  return {
    turnId,
    startedAt,
    message,
    harness,
    processes,
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

/** A value that is no time was changed by another program, and must not make a request wait longer. */
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

/** Stops the remaining processes on a turn's record. Resolves with their number. */
export async function stopRecorded({ processes }: TurnRecord): Promise<number> {
  const reports = await Promise.all(processes.map(process => stopTraced(process)))
  return reports.reduce((sum, { stopped }) => sum + stopped.length, 0)
}
