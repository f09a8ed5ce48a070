import type { FileHandle } from 'node:fs/promises'

/** The first bytes of a file, at most `maxBytes`, however much it holds or grows. */
export async function readHead(handle: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const { size } = await handle.stat()
  // One more than its size, so that the usual file ends with one read.
  const buffer = Buffer.alloc(Math.min(maxBytes, size + 1))
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
