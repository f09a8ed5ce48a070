import { join } from 'node:path'
import { type FileOps, readSmallFile, realFileOps, removeIfThere, toStorageError } from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder } from './project-folder.ts'
import { requireSessionId } from './session-id.ts'

/** A small file of one session: `.chirality/state/<kind>/<sessionId>.<ending>`. */
export abstract class SessionStateFile {
  protected readonly ops: FileOps
  readonly #projectRoot: string
  readonly #kind: string
  readonly #name: string

  constructor(
    place: { projectRoot: string; sessionId: string; ops?: FileOps | undefined },
    { kind, ending }: { kind: string; ending: '.json' | '.ndjson' },
  ) {
    this.ops = place.ops ?? realFileOps
    this.#projectRoot = place.projectRoot
    this.#kind = kind
    this.#name = `${requireSessionId(place.sessionId)}${ending}`
  }

  /** The path, in a folder that exists from now on. */
  protected async ensurePath(): Promise<string> {
    return join(await ensureProjectFolder(this.#projectRoot, 'state', this.#kind), this.#name)
  }

  /** The path; undefined if not even the folder is there. */
  protected async findPath(): Promise<string | undefined> {
    const folder = await findProjectFolder(this.#projectRoot, 'state', this.#kind)
    return folder && join(folder, this.#name)
  }

  protected async readText(maxBytes: number): Promise<string | undefined> {
    const path = await this.findPath()
    if (path === undefined) return undefined
    try {
      return readSmallFile(this.ops, path, maxBytes)?.toString('utf8')
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async remove(): Promise<void> {
    const path = await this.findPath()
    if (path === undefined) return
    try {
      removeIfThere(this.ops, path)
    } catch (error) {
      throw toStorageError(error, path)
    }
  }
}
