import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { CAGE_LEVELS, type CageLevel } from '@chirality/core'
import { type FileOps, realFileOps, removeIfThere, withStorageErrors } from '@chirality/disk'
import { changeOwnFile, type OwnFile, readOwnFile, writeOwnFile } from '../files/own-file.ts'
import { realPath } from '../files/real-path.ts'
import { userDataFolder } from '../files/user-data-folder.ts'
import { startError } from '../session-errors.ts'
import { parseObject } from '../store/stored-session.ts'

/**
 * Whether the agents of a project run in a cage: `cages/<hash>.json` in the user's data folder, where no project and no
 * caged agent can write.
 */
export class CageSettings {
  readonly #home: string
  readonly #ops: FileOps

  constructor({ home = userDataFolder(), ops = realFileOps }: { home?: string; ops?: FileOps } = {}) {
    this.#home = home
    this.#ops = ops
  }

  /** `off` if nothing is set. Throws for a file that cannot be read: it may say `required`. */
  get(projectRoot: string): CageLevel {
    const file = this.#file(projectRoot)
    if (!this.#ops.lstat(file.path)) return 'off'
    const read = readOwnFile(file, MAX_BYTES)
    if (read === undefined) return 'off'
    const value = 'text' in read ? parseObject(read.text) : undefined
    const level = CAGE_LEVELS.find(each => each === value?.cage)
    if (value?.projectRoot === file.root && level !== undefined) return level
    const why = 'problem' in read ? read.problem : 'It is damaged.'
    const message = `The cage of this project is set in ${file.path}, which cannot be used, so no agent is started. ${why} Set it again with: chirality cage off|on|required`
    throw startError('unsupported', message)
  }

  async set(projectRoot: string, cage: CageLevel): Promise<void> {
    const file = this.#file(projectRoot)
    await changeOwnFile(file, () =>
      withStorageErrors(file.path, async () => {
        if (cage === 'off') return removeIfThere(this.#ops, file.path)
        await writeOwnFile(file, `${JSON.stringify({ projectRoot: file.root, cage })}\n`)
      }),
    )
  }

  #file(projectRoot: string): OwnFile {
    const root = realPath(projectRoot)
    const name = createHash('sha256').update(root).digest('hex').slice(0, 32)
    return { home: this.#home, root, path: join(this.#home, 'cages', `${name}.json`), ops: this.#ops }
  }
}

const MAX_BYTES = 16 * 1024
