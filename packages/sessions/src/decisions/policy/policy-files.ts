import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FileOps } from '@chirality/disk'
import {
  changeFile,
  ensurePrivateDirectory,
  readSmallFile,
  toStorageError,
  withStorageErrors,
  writeFileAtomic,
} from '@chirality/disk'
import type { PolicyRule } from '@chirality/personas'
import { CHIRALITY_FOLDER } from '../../files/project-folder.ts'
import { realPath } from '../../files/real-path.ts'
import { type ParsedPolicy, parsePolicy } from './policy-source.ts'

export const PROJECT_POLICY = `${CHIRALITY_FOLDER}/policy`

/** The user's policy files: names and paths. */
export function userPolicyFile(home: string, projectRoot?: string, persona?: string): string {
  if (projectRoot === undefined) return join(home, 'policies', 'global.policy')
  const hash = createHash('sha256').update(realPath(projectRoot)).digest('hex').slice(0, 32)
  return join(home, 'policies', `${hash}${persona === undefined ? '' : `.${persona}`}.policy`)
}

export interface PolicyFile extends ParsedPolicy {
  exists: boolean
}

/** Caches policy files, and reads them again only when they changed on disk. */
export class PolicyFiles {
  readonly #ops: FileOps
  readonly #known = new Map<string, { stamp: string; file: PolicyFile }>()

  constructor(ops: FileOps) {
    this.#ops = ops
  }

  /** Never throws: a read error is a problem of the file. `owned`: other users must not be able to write it. */
  read(path: string, { owned }: { owned: boolean }): PolicyFile {
    try {
      const stats = this.#ops.lstat(path)
      if (stats === undefined) return { exists: false, rules: [], problems: [] }
      const { mtimeMs, ctimeMs, size, ino } = stats
      const stamp = [mtimeMs, ctimeMs, size, ino].join(' ')
      const known = this.#known.get(path)
      if (known?.stamp === stamp) return known.file
      const file = owned && isOpenToOthers(stats) ? OPEN_TO_OTHERS : this.#parse(path)
      // The file was changed just now, and may be changed again within the same clock tick, so it is not cached yet. `mtime` does
      // not say when: any program can set it.
      if (Date.now() - ctimeMs > SETTLED_MS) this.#remember(path, { stamp, file })
      return file
    } catch (error) {
      return broken(toStorageError(error, path).message)
    }
  }

  /**
   * Adds a rule to a file of the user, which is created if it is missing. The first match wins, so the rule is added
   * last.
   */
  async append(path: string, rule: string, comment: string): Promise<void> {
    await withStorageErrors(path, async () => {
      const folder = dirname(path)
      await mkdir(dirname(dirname(folder)), { recursive: true })
      await ensurePrivateDirectory(dirname(folder))
      await ensurePrivateDirectory(folder)
      const add = async () => {
        const before = readSmallFile(this.#ops, path, MAX_POLICY_BYTES)?.toString('utf8') ?? `# ${comment}\n`
        if (before.split('\n').includes(rule)) return
        const gap = before === '' || before.endsWith('\n') ? '' : '\n'
        await writeFileAtomic(path, `${before}${gap}${rule}\n`, { ops: this.#ops })
      }
      await changeFile(path, add, { ops: this.#ops })
    })
  }

  /** Removes a rule from a file of the user. False if that line has changed meanwhile: nothing is written then. */
  async remove(path: string, { line, text }: Pick<PolicyRule, 'line' | 'text'>): Promise<boolean> {
    return withStorageErrors(path, async () => {
      if (this.#ops.lstat(path) === undefined) return false
      const remove = async () => {
        const before = readSmallFile(this.#ops, path, MAX_POLICY_BYTES)?.toString('utf8') ?? ''
        const lines = before.split('\n')
        if (lines[line - 1]?.trim() !== text) return false
        lines.splice(line - 1, 1)
        await writeFileAtomic(path, lines.join('\n'), { ops: this.#ops })
        return true
      }
      return changeFile(path, remove, { ops: this.#ops })
    })
  }

  #parse(path: string): PolicyFile {
    const bytes = readSmallFile(this.#ops, path, MAX_POLICY_BYTES)
    if (bytes === undefined) return { exists: false, rules: [], problems: [] }
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    try {
      return { exists: true, ...parsePolicy(text.decode(bytes)) }
    } catch {
      return broken('is not UTF-8 text.')
    }
  }

  #remember(path: string, entry: { stamp: string; file: PolicyFile }): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(path, entry)
  }
}

const MAX_POLICY_BYTES = 256 * 1024
const MAX_KNOWN = 1000
/** Coarser than the clock of any file system in use. */
const SETTLED_MS = 2_000

const OPEN_TO_OTHERS = broken('can be written by others. Make it your own: chmod go-w, chown.')

function isOpenToOthers(stats: Stats): boolean {
  const isOthers = process.getuid !== undefined && stats.uid !== process.getuid()
  return stats.isFile() && (isOthers || (stats.mode & 0o022) !== 0)
}

function broken(message: string): PolicyFile {
  return { exists: true, rules: [], problems: [{ line: 0, message }] }
}
