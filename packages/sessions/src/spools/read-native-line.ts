import { requireSessionId } from '../files/session-id.ts'
import { withStorageErrors } from '../files/storage-error.ts'
import { placeGone, placeOf } from './cursor.ts'
import type { NativeLineOptions, NativeText } from './native-page.ts'
import { PartLines } from './part-lines.ts'
import { findSpoolParts, type SpoolPart } from './spool-parts.ts'

/**
 * The text of one line, however long it is, a piece at a time: pages of lines have only the beginning of a long one. Throws a
 * StorageError `not-found` where no line of the session begins.
 */
export function readNativeLine(
  projectRoot: string,
  sessionId: string,
  { id, from = 0, maxBytes = DEFAULT_PIECE_BYTES }: NativeLineOptions,
): Promise<NativeText> {
  return withStorageErrors(projectRoot, async () => {
    const parts = await findSpoolParts(projectRoot, requireSessionId(sessionId))
    const { index, offset } = placeOf(parts, id)
    const lines = await PartLines.open(projectRoot, parts[index] as SpoolPart)
    try {
      const line = await lines.lineAt(offset)
      if (line === undefined) throw placeGone()
      const { bytes, torn } = line
      const start = Math.min(from, bytes)
      const piece = await lines.bytes(offset + start, Math.min(maxBytes, bytes - start))
      const end = start + piece.length < bytes ? endOfCharacters(piece) : piece.length
      // Nothing, where the file was cut meanwhile: nobody shall ask for it for ever.
      const next = end > 0 && start + end < bytes ? start + end : null
      return { id, bytes, from: start, text: piece.toString('utf8', 0, end), next, torn }
    } finally {
      await lines.close()
    }
  })
}

const DEFAULT_PIECE_BYTES = 1024 * 1024

/**
 * Before the last character if that is not whole: pieces of a text, put together, are the text again. The end where there is no
 * text anyhow.
 */
function endOfCharacters(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > bytes.length - 1 - MAX_CONTINUATIONS && isContinuation(bytes[at])) at -= 1
  const lead = bytes[at] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at > 0 && at + length > bytes.length ? at : bytes.length
}

const MAX_CONTINUATIONS = 3

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
