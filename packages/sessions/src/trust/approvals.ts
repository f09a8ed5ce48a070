import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ensurePrivateDirectory } from '@chirality/runner'
import { realPath } from '../decisions/policy/real-path.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { readSmallFile } from '../files/read-write.ts'
import { withStorageErrors } from '../files/storage-error.ts'
import { KeyedQueue } from '../store/keyed-queue.ts'
import { parseObject } from '../store/stored-session.ts'
import { userDataFolder } from '../store/user-data-folder.ts'

export interface ApprovalsOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the usual place of the platform. */
  home?: string
  ops?: FileOps
}

/**
 * What the user approved of a project's own files, by content: another content is not approved. Kept in the user's data
 * folder, where no file of a project and no agent that may only write in a project reaches it.
 */
export class Approvals {
  readonly #home: string
  readonly #ops: FileOps
  readonly #queue = new KeyedQueue()

  constructor({ home, ops = realFileOps }: ApprovalsOptions = {}) {
    this.#home = home ?? userDataFolder()
    this.#ops = ops
  }

  /** Whether exactly this content was approved. A file of approvals that cannot be read approves nothing. */
  isApproved(projectRoot: string, subject: string, content: string): boolean {
    const path = this.#path(projectRoot)
    // What lies in the project an agent can write there.
    const isInProject = realPath(path).startsWith(`${realPath(projectRoot)}/`.replace('//', '/'))
    return !isInProject && this.#load(path)[subject] === digest(content)
  }

  async approve(projectRoot: string, subject: string, content: string): Promise<void> {
    await this.#change(projectRoot, approved => ({ ...approved, [subject]: digest(content) }))
  }

  async revoke(projectRoot: string, subject: string): Promise<void> {
    await this.#change(projectRoot, ({ [subject]: _, ...rest }) => rest)
  }

  #change(projectRoot: string, change: (approved: Digests) => Digests): Promise<void> {
    const path = this.#path(projectRoot)
    return this.#queue.run(path, () =>
      withStorageErrors(path, async () => {
        await mkdir(dirname(this.#home), { recursive: true })
        await ensurePrivateDirectory(this.#home)
        await ensurePrivateDirectory(dirname(path))
        const approved = change(this.#load(path))
        const text = JSON.stringify({ projectRoot: realPath(projectRoot), approved }, null, 2)
        await writeFileAtomic(path, `${text}\n`, { ops: this.#ops })
      }),
    )
  }

  #load(path: string): Digests {
    try {
      const text = readSmallFile(this.#ops, path, MAX_BYTES)?.toString('utf8')
      const approved = text === undefined ? undefined : parseObject(text)?.approved
      if (typeof approved !== 'object' || approved === null) return {}
      const entries = Object.entries(approved).filter(([, value]) => typeof value === 'string')
      return Object.fromEntries(entries) as Digests
    } catch {
      return {}
    }
  }

  #path(projectRoot: string): string {
    const hash = createHash('sha256').update(realPath(projectRoot)).digest('hex').slice(0, 32)
    return join(this.#home, 'approvals', `${hash}.json`)
  }
}

/** SHA-256 by subject, such as `persona HELP`. */
type Digests = Record<string, string>

const MAX_BYTES = 1024 * 1024

function digest(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}
