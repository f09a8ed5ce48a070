import { type FileHandle, readlink, realpath } from 'node:fs/promises'

/**
 * Where an open file really is. A path that was checked before it was opened proves nothing: a folder on the way may
 * have become a link in between. Linux knows the answer; elsewhere the path is asked a second time.
 */
export async function openedPath(handle: FileHandle, path: string): Promise<string> {
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`)
  } catch {
    return realpath(path)
  }
}
