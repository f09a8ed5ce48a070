import { accessSync, constants, statfsSync } from 'node:fs'

/** Chromium's own place for the memory that its processes share. */
const MEMORY = '/dev/shm'

/** Two browsers with pages of tests took 110 MB of it together, and several packages run at once. */
const ENOUGH_BYTES = 512 * 1024 ** 2

/**
 * Whether Chromium can share memory through `/dev/shm`. Playwright tells it to use files in the temporary folder instead,
 * because containers have little there. A page crashes as soon as the disk of that folder is full, whoever filled it:
 * "Target crashed" in any test. Without room in either place no browser is started, with the reason.
 */
export function sharesInMemory(temporary: string): boolean {
  if (process.platform !== 'linux') return false
  const inMemory = roomIn(MEMORY)
  if (inMemory >= ENOUGH_BYTES) return true
  const onDisk = roomIn(temporary)
  if (onDisk >= ENOUGH_BYTES) return false
  throw new Error(
    `A browser needs ${megabytes(ENOUGH_BYTES)} for the memory that its processes share. ${MEMORY} has ${megabytes(inMemory)}, and ${temporary} has ${megabytes(onDisk)}. Make room in one of them, or set TMPDIR.`,
  )
}

/** None where nothing may be written. */
function roomIn(folder: string): number {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MB`
}
