import { type GitRepository, git } from '../git/git.ts'

/** Sizes of the objects that exist. */
export async function sizesOf(
  repository: GitRepository,
  ids: readonly string[],
  env: Record<string, string>,
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const output = await git(repository, ['cat-file', '--batch-check', '--buffer'], {
    env,
    input: `${ids.join('\n')}\n`,
    maxBytes: MAX_BLOB_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  const rows = output.toString('latin1').trimEnd().split('\n')
  return new Map(
    rows.flatMap(row => {
      const [id = '', type, size] = row.split(' ')
      return type === 'blob' ? [[id, Number(size)] as const] : []
    }),
  )
}

/** Contents of objects by id. */
export async function readBlobs(
  repository: GitRepository,
  ids: readonly string[],
  env: Record<string, string> = {},
): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>()
  if (ids.length === 0) return contents
  const output = await git(repository, ['cat-file', '--batch', '--buffer'], {
    env,
    input: `${[...new Set(ids)].join('\n')}\n`,
    maxBytes: MAX_BLOB_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0x0a, at)
    const [id = '', type, size] = output.toString('latin1', at, end).split(' ')
    at = end + 1
    if (type !== 'blob') continue
    contents.set(id, output.subarray(at, at + Number(size)))
    at += Number(size) + 1
  }
  return contents
}

/** Splits objects into batches that fit into memory. */
export function batchesBySize(sizes: Iterable<readonly [string, number]>): string[][] {
  const batches: string[][] = []
  let left = 0
  for (const [id, size] of sizes) {
    if (left <= 0) {
      batches.push([])
      left = BATCH_BYTES
    }
    batches.at(-1)?.push(id)
    left -= size
  }
  return batches
}

/** Number of bytes that one git process reads or writes. */
export const BATCH_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
const MAX_BLOB_BYTES = 1024 * 1024 * 1024
