import { readlinkSync, realpathSync } from 'node:fs'

/**
 * Where an open file really is. A path that was checked before it was opened proves nothing: a folder on the way may
 * have become a link in between. Linux knows the answer; elsewhere the path is asked a second time.
 */
export function openedPath(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realpathSync.native(path)
  }
}
