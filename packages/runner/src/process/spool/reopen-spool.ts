import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import path from 'node:path'
import type { TurnProcess } from '@chirality/core'
import { errnoOf } from '../../common/errno.ts'
import { ensureLogDirectory } from './log-directory.ts'
import { SpoolError, toSpoolError, unsafeSymlink } from './spool-error.ts'
import { type SpoolReadEnd, type SpoolSource, settleSpool } from './spool-source.ts'

/** The harness that the raw log belongs to: logs of other harnesses are not read. */
export interface SpoolPlace {
  projectRoot: string
  harness: string
}

/** The raw log of a run that another process began. Throws a SpoolError if it is not the original file. */
export async function reopenSpool(
  { spoolPath, stderrPath, spoolOffset }: Pick<TurnProcess, 'spoolPath' | 'stderrPath' | 'spoolOffset'>,
  { projectRoot, harness }: SpoolPlace,
): Promise<SpoolSource> {
  const ensureDirectory = () => ensureLogDirectory(projectRoot, harness)
  const directory = await ensureDirectory()
  const stdout = openOwn(spoolPath, directory)
  if (stdout === undefined) throw lost(spoolPath, 'is gone')
  try {
    if (fstatSync(stdout.readFd).size < spoolOffset) throw lost(spoolPath, 'was cut')
    const stderr = openOwn(stderrPath, directory)
    let isOpen = true
    const close = async () => {
      if (!isOpen) return
      isOpen = false
      try {
        await settleSpool({ stdout, stderr }, ensureDirectory)
      } finally {
        for (const end of [stdout, stderr]) if (end) closeSync(end.readFd)
      }
    }
    return { path: spoolPath, stderrPath, stdout, ...(stderr ? { stderr } : {}), close }
  } catch (error) {
    closeSync(stdout.readFd)
    throw error
  }
}

/** Undefined if there is none. A trace is a file in the project, so the paths in it are not trusted. */
function openOwn(file: string, directory: string): SpoolReadEnd | undefined {
  if (path.dirname(file) !== directory || path.basename(file) === '..') {
    throw new SpoolError('unsafe', file, `${file} is not in ${directory}, where raw logs are.`)
  }
  const readFd = openForReading(file)
  if (readFd === undefined) return undefined
  const stats = fstatSync(readFd)
  const uid = process.getuid?.()
  if (stats.isFile() && (uid === undefined || stats.uid === uid)) return { path: file, readFd }
  closeSync(readFd)
  const fault = stats.isFile() ? `belongs to another user (uid ${stats.uid})` : 'is not a file'
  throw new SpoolError('unsafe', file, `${file} ${fault}, so it is not the raw log that was written there.`)
}

function openForReading(file: string): number | undefined {
  try {
    // Opened non-blocking: a FIFO at this path would block the open forever.
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    if (errnoOf(error) === 'ELOOP') throw unsafeSymlink(file, error)
    throw toSpoolError(error, file)
  }
}

function lost(file: string, what: string): SpoolError {
  return new SpoolError('lost', file, `The raw log ${file} ${what}, so what the agent said cannot be read.`)
}
