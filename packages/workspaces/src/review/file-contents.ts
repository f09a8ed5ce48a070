import type { GitRepository } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import { inSlices, type TreeFile } from './disk-files.ts'
import type { DiskFile } from './one-file.ts'
import { batchesBySize, readBlobs, sizesOf } from './read-objects.ts'

/** Calls `write` for each file with its content. The next contents are read while the previous ones are written. */
export async function withContents<F extends { to: TreeFile }>(
  repository: GitRepository,
  files: readonly F[],
  {
    write,
    known = new Map(),
  }: {
    write: (file: F, content: DiskFile) => void
    /** Contents by id. */
    known?: ReadonlyMap<string, Buffer> | undefined
  },
): Promise<void> {
  const isKnown = ({ to }: F) => known.has(to.id)
  const writeAs = (file: F, content: Buffer) => write(file, { mode: diskMode(file.to.mode), content })
  const unknown = files.filter(file => !isKnown(file))
  const byId = new Map<string, F[]>()
  for (const file of unknown) byId.set(file.to.id, [...(byId.get(file.to.id) ?? []), file])
  const sizes = await sizesOf(repository, [...byId.keys()], {})
  for (const id of byId.keys())
    if (!sizes.has(id)) throw workspaceError('git-failed', `The object ${id} is missing.`)
  await inSlices(files.filter(isKnown), file => writeAs(file, known.get(file.to.id) ?? Buffer.alloc(0)))
  const batches = batchesBySize(sizes)
  const read = (at: number) => {
    const reading = readBlobs(repository, batches[at] ?? [])
    // Awaited later, or never if a file cannot be written.
    reading.catch(() => {})
    return reading
  }
  let next = read(0)
  for (const at of batches.keys()) {
    const contents = await next
    next = read(at + 1)
    await inSlices([...contents], ([id, content]) => {
      for (const file of byId.get(id) ?? []) writeAs(file, content)
    })
  }
}

function diskMode(mode: string): DiskFile['mode'] {
  if (mode === '100644' || mode === '100755' || mode === '120000') return mode
  throw workspaceError('review-refused', 'A repository inside the work folder cannot be changed here.')
}
