import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Envelope, UIEvent } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { fillFileAtomic, withStorageErrors, writeAll } from '@chirality/disk'
import { ensureProjectFolder } from '../files/project-folder.ts'
import { encodeLine } from '../log/envelope-line.ts'
import type { SessionLogReader } from '../log/read-log.ts'
import { EVENTS_FOLDER } from '../log/session-log.ts'
import { StoredTexts } from '../log/stored-texts.ts'
import { SessionFold } from './fold-session.ts'
import type { StoredSession } from './stored-session.ts'

export interface WriteLogOptions {
  ops: FileOps
  /** The session that the log is for, still empty. */
  session: StoredSession
  /** Events to add at the end. */
  closing?: (copied: StoredSession) => UIEvent | undefined
}

/**
 * Writes a log with copied events: it appears as a whole or not at all. Its envelopes are numbered again and get the
 * session's id; an open turn at the end is closed, because no process runs it. Returns the resulting session.
 */
export async function writeWholeLog(
  batches: AsyncIterable<readonly Envelope[]>,
  { ops, session, closing }: WriteLogOptions,
): Promise<StoredSession> {
  const folder = await ensureProjectFolder(session.projectRoot, EVENTS_FOLDER)
  const path = join(folder, `${session.id}.ndjson`)
  const fold = new SessionFold(session)
  const texts = new StoredTexts()
  const fill = async (fd: number) => {
    const write = (envelopes: readonly Envelope[]) => {
      const own = envelopes.map((envelope, i) => makeOwn(envelope, session.id, fold.session.lastSeq + 1 + i))
      const lines = own.map(envelope => encodeLine(texts.stored(envelope).envelope))
      writeAll(ops, fd, Buffer.from(lines.join('')))
      fold.add(own)
    }
    for await (const batch of batches) write(batch)
    const cut = fold.openTurn
    if (cut !== undefined) write([interruption(cut.turnId, fold.session)])
    const last = closing?.(fold.session)
    if (last !== undefined) write([spoken(last, fold.session)])
  }
  await withStorageErrors(path, () => fillFileAtomic(path, fill, { ops }))
  return fold.session
}

/** A log up to `lastSeq`, one page at a time. */
export async function* batchesOfLog(log: SessionLogReader, lastSeq: number): AsyncGenerator<Envelope[]> {
  for (let seq = 0; seq < lastSeq; ) {
    const batch = log.readAfter(seq, Math.min(BATCH_EVENTS, lastSeq - seq))
    seq = batch.at(-1)?.seq ?? lastSeq
    yield batch
    await setImmediate()
  }
}

const BATCH_EVENTS = 1000

function makeOwn(envelope: Envelope, sessionId: string, seq: number): Envelope {
  return { ...envelope, seq, sessionId, event: { ...envelope.event, sessionId } }
}

function spoken(event: UIEvent, { id, lastSeq, updatedAt }: StoredSession): Envelope {
  return { seq: lastSeq + 1, at: updatedAt, sessionId: id, turnId: null, event }
}

function interruption(turnId: string | null, { id, lastSeq, updatedAt }: StoredSession): Envelope {
  const event = { type: 'turn:end', sessionId: id, reason: 'interrupted' } as const
  return { seq: lastSeq + 1, at: updatedAt, sessionId: id, turnId, event }
}
