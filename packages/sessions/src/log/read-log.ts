import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { findProjectFolder } from '../files/project-folder.ts'
import { OPEN, openRegular } from '../files/read-write.ts'
import { requireSessionId } from '../files/session-id.ts'
import { IndexFile } from './index-file.ts'
import { indexLines } from './index-lines.ts'
import { LineIndex } from './line-index.ts'
import { loadIndex } from './load-index.ts'
import { toLogError } from './log-error.ts'
import { LogReader } from './log-reader.ts'
import { EVENTS_FOLDER, READ_BYTES, type ReadOptions } from './session-log.ts'

/** A log as it was when it was opened, for reading only. */
export interface SessionLogReader {
  readonly lastSeq: number
  readAfter(seq: number, limit: number, options?: ReadOptions): Envelope[]
  readBefore(seq: number, limit: number, options?: ReadOptions): Envelope[]
  readLast(limit: number, options?: ReadOptions): Envelope[]
  close(): void
}

/**
 * Reads a log without touching it: nothing is repaired and a line that is being written is left out, so this is safe
 * beside a server that has the project. Undefined when the session has no log.
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
      return await indexed(fd, sessionId, { ops, indexPath: join(folder, `${sessionId}.idx`) })
    } catch (error) {
      ops.close(fd)
      throw error
    }
  } catch (error) {
    throw toLogError(error, path)
  }
}

async function indexed(
  fd: number,
  sessionId: string,
  { ops, indexPath }: { ops: FileOps; indexPath: string },
): Promise<SessionLogReader> {
  // The size is asked for after the index is read: a writer may be at work, and then the index must not be ahead.
  const log = {
    fd,
    get size() {
      return ops.stat(fd).size
    },
  }
  const loaded = loadIndex(IndexFile.open(ops, indexPath, 'read'), log, ops)
  let index = loaded.trusted
  const { size } = log
  const steps = indexLines(index, { ops, fd, size })
  while (!steps.next().done) await setImmediate()
  index.addMissing(loaded.lastSeq - index.count)
  const lastSeq = index.count
  const reader = new LogReader({
    ops,
    sessionId,
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
  const readBefore = (seq: number, limit: number, { maxBytes = READ_BYTES }: ReadOptions = {}) => {
    const to = Math.min(lastSeq, seq - 1)
    return reader.backwards(Math.max(1, to - limit + 1), to, maxBytes)
  }
  return {
    lastSeq,
    readAfter: (seq, limit, { maxBytes = READ_BYTES } = {}) => {
      const from = Math.max(0, seq) + 1
      return reader.forwards(from, Math.min(lastSeq, from + limit - 1), maxBytes)
    },
    readBefore,
    readLast: (limit, options) => readBefore(lastSeq + 1, limit, options),
    close: () => {
      index.close()
      ops.close(fd)
    },
  }
}
