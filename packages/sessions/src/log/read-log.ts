import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import { type FileOps, OPEN, openRegular, realFileOps, toStorageError } from '@chirality/disk'
import { findProjectFolder } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { IndexFile } from './index/index-file.ts'
import { indexLines } from './index/index-lines.ts'
import { LineIndex } from './index/line-index.ts'
import { loadIndex } from './index/load-index.ts'
import { LogReader } from './log-reader.ts'
import { EVENTS_FOLDER, READ_BYTES, type ReadOptions } from './session-log.ts'

/** A read-only view of a log at the time it was opened. */
export interface SessionLogReader {
  readonly lastSeq: number
  readAfter(seq: number, limit: number, options?: ReadOptions): Envelope[]
  readBefore(seq: number, limit: number, options?: ReadOptions): Envelope[]
  readLast(limit: number, options?: ReadOptions): Envelope[]
  close(): void
}

/**
 * Reads a log without changing it: nothing is repaired, and a line that is being written is left out, so this is safe
 * beside a server that owns the project. Undefined if the session has no log.
 */
export async function readSessionLog(
  projectRoot: string,
  id: string,
  ops: FileOps = realFileOps,
): Promise<SessionLogReader | undefined> {
  const sessionId = requireSessionId(id)
  const folder = await findProjectFolder(projectRoot, EVENTS_FOLDER)
  const path = join(folder ?? '', `${sessionId}.ndjson`)
  try {
    if (folder === undefined || ops.lstat(path) === undefined) return undefined
    const fd = openRegular(ops, path, OPEN.read)
    try {
      return await indexed(fd, { ops, sessionId, path, indexPath: join(folder, `${sessionId}.idx`) })
    } catch (error) {
      ops.close(fd)
      throw error
    }
  } catch (error) {
    throw toStorageError(error, path)
  }
}

interface LogPlace {
  ops: FileOps
  sessionId: string
  path: string
  indexPath: string
}

async function indexed(fd: number, place: LogPlace): Promise<SessionLogReader> {
  const { ops, sessionId, path, indexPath } = place
  // The size is read after the index: a writer may be active, and the index must not be ahead of the size.
  const log = {
    fd,
    get size() {
      return ops.stat(fd).size
    },
  }
  const loaded = loadIndex(IndexFile.open(ops, indexPath, 'read'), log, ops)
  let index = loaded.trusted
  const { size } = log
  const { maxSeq } = loaded
  const steps = indexLines(index, { ops, fd, size, ...(maxSeq === undefined ? {} : { maxSeq }) })
  while (!steps.next().done) await setImmediate()
  index.addMissing(loaded.lastSeq - index.count)
  const lastSeq = index.count
  const reader = new LogReader({
    ops,
    sessionId,
    path,
    fd: () => fd,
    index: () => index,
    rebuildIndex: () => {
      const rebuilt = LineIndex.empty(IndexFile.none(ops))
      const again = indexLines(rebuilt, { ops, fd, size, maxSeq: lastSeq })
      while (!again.next().done);
      rebuilt.addMissing(lastSeq - rebuilt.count)
      index.close()
      index = rebuilt
    },
  })
  const bounds = ({ maxBytes = READ_BYTES }: ReadOptions = {}) => ({ lastSeq, maxBytes })
  return {
    lastSeq,
    readAfter: (seq, limit, options) => reader.after(seq, limit, bounds(options)),
    readBefore: (seq, limit, options) => reader.before(seq, limit, bounds(options)),
    readLast: (limit, options) => reader.before(lastSeq + 1, limit, bounds(options)),
    close: () => {
      index.close()
      ops.close(fd)
    },
  }
}
