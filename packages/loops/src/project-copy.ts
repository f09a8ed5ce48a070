import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import {
  listCarefully,
  OPEN,
  openRegular,
  readCarefully,
  realFileOps,
  TEMPORARY_NAME,
  writeAll,
  writeFileNow,
} from '@chirality/disk'

/**
 * The copy of a loop's files in its project, for people: `.chirality/loops/<id>`. Agents with a shell write there, and
 * clones bring such files, so they are read only to report differences from the original. A failed write shows up as
 * such a difference.
 */
export class ProjectCopy {
  readonly folder: string
  readonly #projectRoot: string

  constructor(projectRoot: string, loopId: string) {
    this.#projectRoot = projectRoot
    this.folder = path.join(projectRoot, '.chirality', 'loops', loopId)
  }

  get #inProject(): string {
    return path.relative(this.#projectRoot, this.folder)
  }

  /** Appends to the copy of the journal. */
  append(bytes: Buffer): void {
    this.#write(this.folder, () => {
      const fd = openRegular(realFileOps, path.join(this.folder, 'journal.ndjson'), OPEN.appendOrCreate)
      try {
        writeAll(realFileOps, fd, bytes)
      } finally {
        realFileOps.close(fd)
      }
    })
  }

  put(text: string | Buffer, ...parts: string[]): void {
    const file = path.join(this.folder, ...parts)
    this.#write(path.dirname(file), () => writeFileNow(file, text))
  }

  #write(folder: string, work: () => void): void {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // A link in the place of the folder would redirect the write elsewhere.
      if (realpathSync(folder) === folder) work()
    } catch {
      // Reported as a difference.
    }
  }

  /**
   * Files that differ from the original, and files that the original lacks. `afterKill`: a killed process may have left
   * its last file and the end of the journal without a copy.
   */
  async differences(original: string, { afterKill = false } = {}): Promise<string[]> {
    const files = await filesIn(original, '.')
    const newest = new Set(afterKill ? await newestOf(original, files) : [])
    const found: string[] = []
    for (const name of files) {
      if (newest.has(name)) continue
      const wanted = await readCarefully({ root: original, path: name, links: 'none', maxBytes: MAX_BYTES })
      if (wanted === undefined || 'fault' in wanted) continue
      const read = await readCarefully(this.#request(name))
      const bytes = read !== undefined && 'bytes' in read ? read.bytes : undefined
      const isBehind = afterKill && name === 'journal.ndjson' && isPart(bytes, wanted.bytes)
      if (!isBehind && bytes?.equals(wanted.bytes) !== true) found.push(name)
    }
    const known = new Set(files)
    const other = (await filesIn(this.#projectRoot, this.#inProject)).filter(name => !known.has(name))
    return [...found, ...other].sort()
  }

  /** Writes the whole copy anew. */
  async restore(original: string): Promise<void> {
    for (const name of await filesIn(original, '.')) {
      const read = await readCarefully({ root: original, path: name, links: 'none', maxBytes: MAX_BYTES })
      if (read !== undefined && 'bytes' in read) this.put(read.bytes, ...name.split('/'))
    }
  }

  remove(): void {
    this.#write(path.dirname(this.folder), () => rmSync(this.folder, { recursive: true, force: true }))
  }

  #request(name: string) {
    return {
      root: this.#projectRoot,
      path: path.join(this.#inProject, name),
      links: 'none' as const,
      maxBytes: MAX_BYTES,
    }
  }
}

/**
 * True if the lines of a copy are in the original, in the same order. A killed process may have left the copy without
 * its last lines, and the next process appends before it compares.
 */
function isPart(copy: Buffer | undefined, original: Buffer): boolean {
  const lines = (copy?.toString('utf8') ?? '').split('\n')
  // An incomplete line is ignored.
  lines.pop()
  const wanted = original.toString('utf8').split('\n')
  let at = 0
  return lines.every(line => {
    at = wanted.indexOf(line, at) + 1
    return at > 0
  })
}

/** Names of the copied files, with `/`. */
async function filesIn(root: string, below: string): Promise<string[]> {
  const names: string[] = []
  for (const inFolder of ['', ...COPIED_FOLDERS]) {
    const found = await listCarefully({
      root,
      path: path.join(below, inFolder),
      links: 'none',
      max: MAX_FILES,
    })
    // A foreign object in the place of a folder is reported by its missing files. Temporary files of killed processes
    // are skipped.
    for (const { name } of found !== undefined && 'entries' in found ? found.entries : [])
      if (!TEMPORARY_NAME.test(name) && (inFolder !== '' || COPIED_FILES.has(name)))
        names.push(inFolder === '' ? name : `${inFolder}/${name}`)
  }
  return names
}

/** The newest files; several only if their times are equal. */
async function newestOf(folder: string, names: readonly string[]): Promise<string[]> {
  const times = new Map<string, number>()
  for (const name of names)
    if (name !== 'journal.ndjson')
      times.set(name, (await stat(path.join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0)
  const newest = Math.max(...times.values())
  return names.filter(name => times.get(name) === newest)
}

const COPIED_FOLDERS = ['receipts', 'prompts', 'outputs']
const COPIED_FILES = new Set(['journal.ndjson', 'report.md', 'progress.md', 'budget.json'])
const MAX_BYTES = 256 * 1024 * 1024
const MAX_FILES = 1_000_000
