import { fstatSync, readSync } from 'node:fs'

/** The first bytes of a file, at most `maxBytes`, however much it holds or grows. */
export function readHead(fd: number, maxBytes: number): Uint8Array {
  const { size } = fstatSync(fd)
  // One more than its size, so that the usual file ends with one read.
  const buffer = Buffer.alloc(Math.min(maxBytes, size + 1))
  let filled = 0
  while (filled < buffer.length) {
    const bytesRead = readSync(fd, buffer, filled, buffer.length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
