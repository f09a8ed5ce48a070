import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '@chirality/disk'
import { ensureLogDirectory, type RawLogs } from './log-directory.ts'
import { SpoolError, toSpoolError } from './spool-error.ts'
import { removeIfThere, type SpoolReadEnd, type SpoolSource, settleSpool } from './spool-source.ts'
import { makeTempFolder } from './temp-folder.ts'

export interface SpoolOptions {
  projectRoot: string
  harness: string
  sessionId: string
  turnId: string
  rawLogs?: RawLogs | undefined
  at?: Date | undefined
}

/** The files that are created for an agent. It gets the write ends; the tail reads through descriptors of its own. */
export interface Spool extends SpoolSource {
  readonly stdout: SpoolFile
  readonly stderr: SpoolFile
  /** Keeps a line that the agent was sent, in a file of its own beside its output. A failure costs only this file. */
  noteSent(line: string): void
  /** Closes the write ends. After the spawn the agent has its own copies. */
  closeWriters(): void
  /** Closes and removes the files, for a run that did not start. */
  discard(): Promise<void>
}

export interface SpoolFile extends SpoolReadEnd {
  readonly writeFd: number
}

/** Creates the raw log of one run, before the agent starts: `<logs>/<harness>/<time>-<session>-<turn>.ndjson`. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { projectRoot, rawLogs } = options
  const harness = fileNamePart(options.harness)
  if (rawLogs === 'off') return openPassingSpool(options)
  const ensureDirectory = () => ensureLogDirectory(projectRoot, harness, rawLogs?.folder)
  const directory = await ensureDirectory()
  const ids = `${fileNamePart(options.sessionId)}-${fileNamePart(options.turnId)}`
  const start = (options.at ?? new Date()).getTime()
  for (let attempt = 0; attempt < MAX_NAME_ATTEMPTS; attempt += 1) {
    // If the name exists, the time is increased by a millisecond: an existing log is never appended to.
    const base = join(directory, `${timeStamp(start + attempt)}-${ids}`)
    const spool = createSpool(base, ensureDirectory)
    if (spool !== undefined) return spool
  }
  throw new SpoolError('io', directory, `${directory} has no free name for ${ids}. Move old logs away.`)
}

/** A spool whose files and folder are removed when it is closed. */
async function openPassingSpool(options: SpoolOptions): Promise<Spool> {
  const folder = await makeTempFolder({}, options.harness)
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const spool = await openSpool({ ...options, rawLogs: { folder } })
    const end = () => spool.discard().finally(remove)
    return { ...spool, close: end, discard: end }
  } catch (error) {
    await remove()
    throw error
  }
}

const MAX_NAME_ATTEMPTS = 100
const PRIVATE_FILE_MODE = 0o600
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants

function createSpool(base: string, ensureDirectory: () => Promise<unknown>): Spool | undefined {
  const path = `${base}.ndjson`
  const stderrPath = `${base}.stderr`
  const sent = new SentLines(`${base}.sent`)
  const files = createSpoolFiles([path, stderrPath])
  if (files === undefined) return undefined
  const [stdout, stderr] = files
  openPaths.add(path)
  let writersOpen = true
  let readersOpen = true
  const closeWriters = () => {
    if (writersOpen) closeAll([stdout.writeFd, stderr.writeFd])
    writersOpen = false
  }
  const finish = async (settle: () => Promise<void>) => {
    if (!readersOpen) return
    readersOpen = false
    closeWriters()
    try {
      await settle()
    } finally {
      closeAll([stdout.readFd, stderr.readFd])
      sent.close()
      openPaths.delete(path)
    }
  }
  const close = () => finish(() => settleSpool({ stdout, stderr }, ensureDirectory))
  const discard = () =>
    finish(async () => {
      removeIfThere(path)
      removeIfThere(stderrPath)
      removeIfThere(sent.path)
    })
  const noteSent = (line: string) => sent.write(line)
  return { path, stderrPath, stdout, stderr, noteSent, closeWriters, close, discard }
}

/** Created with the first line. The name does not end in `.ndjson`, because readers take those for what agents said. */
class SentLines {
  readonly path: string
  #fd: number | undefined
  #isClosed = false

  constructor(path: string) {
    this.path = path
  }

  write(line: string): void {
    if (this.#isClosed) return
    try {
      this.#fd ??= openSync(this.path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE_MODE)
      writeSync(this.#fd, `${line}\n`)
    } catch {
      this.close()
    }
  }

  close(): void {
    this.#isClosed = true
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

const openPaths = new Set<string>()

/** Whether this process still reads the spool: its agent runs, or its last lines are not taken yet. */
export function isSpoolOpen(path: string): boolean {
  return openPaths.has(path)
}

/** Opens both files or none. Undefined if a name exists. */
function createSpoolFiles(paths: [string, string]): [SpoolFile, SpoolFile] | undefined {
  const created: SpoolFile[] = []
  try {
    return [createSpoolFile(paths[0], created), createSpoolFile(paths[1], created)]
  } catch (error) {
    for (const { path, writeFd, readFd } of created) {
      closeAll([writeFd, readFd])
      removeIfThere(path)
    }
    if (errnoOf(error) === 'EEXIST') return undefined
    throw toSpoolError(error, paths[0])
  }
}

function createSpoolFile(path: string, created: SpoolFile[]): SpoolFile {
  // O_APPEND: if the file is truncated, the agent continues at its end and leaves no hole of zeros.
  const writeFd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE_MODE)
  try {
    const file = { path, writeFd, readFd: openSync(path, O_RDONLY | O_NOFOLLOW) }
    created.push(file)
    return file
  } catch (error) {
    closeSync(writeFd)
    removeIfThere(path)
    throw error
  }
}

function closeAll(fds: number[]): void {
  for (const fd of fds) closeSync(fd)
}

function timeStamp(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}

function fileNamePart(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_'
}
