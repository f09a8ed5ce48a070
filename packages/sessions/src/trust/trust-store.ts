import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type FileOps, realFileOps, removeIfThere, withStorageErrors } from '@chirality/disk'
import { changeOwnFile, readOwnFile, writeOwnFile } from '../files/own-file.ts'
import { realPath } from '../files/real-path.ts'
import { userDataFolder } from '../files/user-data-folder.ts'
import { parseObject } from '../store/stored-session.ts'

export interface TrustStoreOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the platform's default. */
  home?: string
  ops?: FileOps
  /** How many of the latest fingerprints of one kind are trusted. Default 20. */
  keep?: number
}

/**
 * The files of a project that the user trusted, by content: `approvals/<hash>.json` in the user's data folder, one per
 * project and `kind` of files (`agent-files`, `persona:HELP`). A changed file has another fingerprint, so it is not
 * trusted. The last fingerprints are kept, because switching branches restores earlier files.
 */
export class TrustStore {
  readonly #home: string
  readonly #ops: FileOps
  readonly #keep: number

  constructor({ home = userDataFolder(), ops = realFileOps, keep = 20 }: TrustStoreOptions = {}) {
    this.#home = home
    this.#ops = ops
    this.#keep = keep
  }

  /** Also false when the store cannot be read, belongs to another user, or is inside the project. */
  isTrusted(projectRoot: string, kind: string, fingerprint: string): boolean {
    return this.#read(realPath(projectRoot), kind).includes(fingerprint)
  }

  /** `fingerprint` is that of the files that were shown, not of the files on the disk now. */
  async trust(projectRoot: string, kind: string, fingerprint: string): Promise<void> {
    const root = realPath(projectRoot)
    await this.#change(root, kind, async path => {
      const kept = this.#read(root, kind).filter(known => known !== fingerprint)
      const fingerprints = [...kept, fingerprint].slice(-this.#keep)
      const text = JSON.stringify({ projectRoot: root, kind, fingerprints })
      await writeOwnFile({ home: this.#home, path, ops: this.#ops }, `${text}\n`)
    })
  }

  /** Removes all trust of this kind. */
  async revoke(projectRoot: string, kind: string): Promise<void> {
    await this.#change(realPath(projectRoot), kind, async file => removeIfThere(this.#ops, file))
  }

  #change(root: string, kind: string, change: (file: string) => Promise<void>): Promise<void> {
    const file = this.#file(root, kind)
    const own = { home: this.#home, path: file, ops: this.#ops }
    return changeOwnFile(own, () => withStorageErrors(file, () => change(file)))
  }

  #file(root: string, kind: string): string {
    const name = createHash('sha256').update(`${root}\0${kind}`).digest('hex').slice(0, 32)
    return join(this.#home, 'approvals', `${name}.json`)
  }

  #read(root: string, kind: string): string[] {
    const own = { home: this.#home, root, path: this.#file(root, kind), ops: this.#ops }
    const read = readOwnFile(own, MAX_BYTES)
    const value = read !== undefined && 'text' in read ? parseObject(read.text) : undefined
    if (value?.projectRoot !== root || value.kind !== kind || !Array.isArray(value.fingerprints)) return []
    return value.fingerprints.filter(each => typeof each === 'string')
  }
}

/** Includes names and contents with their lengths, so that no two sets of files share a fingerprint. */
export function fingerprintOf(files: readonly { path: string; bytes: Uint8Array | string }[]): string {
  const hash = createHash('sha256')
  for (const { path, bytes } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const content = createHash('sha256').update(bytes).digest('hex')
    hash.update(`${Buffer.byteLength(path)}:${path}${content}`)
  }
  return hash.digest('hex')
}

const MAX_BYTES = 64 * 1024
