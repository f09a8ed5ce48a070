import { withFileLock } from './file-lock.ts'
import { type FileOps, realFileOps } from './file-ops.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { withStorageErrors } from './storage-error.ts'

/**
 * For a change that reads a file and writes it anew: without it, of two processes that do so at the same moment the second
 * one drops what the first one added. Callers in this process wait in a queue, other processes at `<path>.lock`. The folder
 * has to be there. What `change` throws stays what it is.
 */
export async function changeFile<T>(
  path: string,
  change: () => Promise<T>,
  { ops = realFileOps }: { ops?: FileOps } = {},
): Promise<T> {
  return changes.run(path, async () => {
    const { result } = await withStorageErrors(path, () =>
      withFileLock(ops, `${path}.lock`, async () => {
        const result = change()
        await result.catch(() => {})
        return { result }
      }),
    )
    return result
  })
}

const changes = new KeyedQueue()
