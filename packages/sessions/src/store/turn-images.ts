import { join } from 'node:path'
import type { PromptPart } from '@chirality/core'
import {
  type FileOps,
  readSmallFile,
  realFileOps,
  removeIfThere,
  toStorageError,
  writeFileAtomic,
} from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'

/** An image that came with a message. */
export interface TurnImage {
  mediaType: string
  /** In base64. */
  data: string
}

/**
 * The images of a session's messages: `.chirality/state/images/<sessionId>-<turnId>.json`. The log has only their number:
 * they would be read with every page of it.
 */
export class TurnImages {
  readonly #projectRoot: string
  readonly #sessionId: string
  readonly #ops: FileOps

  constructor(projectRoot: string, sessionId: string, ops: FileOps = realFileOps) {
    this.#projectRoot = projectRoot
    this.#sessionId = requireSessionId(sessionId)
    this.#ops = ops
  }

  /** Images that are given as a file's path are not kept: the file may change. */
  async keep(turnId: string, parts: readonly PromptPart[]): Promise<void> {
    const images = parts.flatMap((part): TurnImage[] =>
      part.type === 'image' && part.source.kind === 'base64'
        ? [{ mediaType: part.source.mediaType, data: part.source.data }]
        : [],
    )
    const text = JSON.stringify(images)
    if (images.length === 0 || text.length > MAX_BYTES) return
    const path = join(await ensureProjectFolder(this.#projectRoot, ...FOLDER), this.#name(turnId))
    try {
      await writeFileAtomic(path, text, { ops: this.#ops })
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async read(turnId: string): Promise<TurnImage[]> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined || !TURN_ID.test(turnId)) return []
    const text = readSmallFile(this.#ops, join(folder, this.#name(turnId)), MAX_BYTES)?.toString('utf8')
    try {
      const images: unknown = JSON.parse(text ?? '[]')
      return Array.isArray(images) ? images.filter(isImage) : []
    } catch {
      return []
    }
  }

  /** For a fork, which may outlive the session it was made from. Never rejects: without them it is still a fork. */
  async copyTo(sessionId: string): Promise<void> {
    await this.#copyTo(requireSessionId(sessionId)).catch(() => {})
  }

  async #copyTo(sessionId: string): Promise<void> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined) return
    const prefix = `${this.#sessionId}-`
    for (const name of this.#ops.readdir(folder).filter(one => one.startsWith(prefix))) {
      const bytes = readSmallFile(this.#ops, join(folder, name), MAX_BYTES)
      const copy = join(folder, `${sessionId}-${name.slice(prefix.length)}`)
      if (bytes !== undefined) await writeFileAtomic(copy, bytes.toString('utf8'), { ops: this.#ops })
    }
  }

  async remove(): Promise<void> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined) return
    for (const name of this.#ops.readdir(folder))
      if (name.startsWith(`${this.#sessionId}-`)) removeIfThere(this.#ops, join(folder, name))
  }

  #name(turnId: string): string {
    return `${this.#sessionId}-${turnId}.json`
  }
}

function isImage(value: unknown): value is TurnImage {
  const { mediaType, data } = (value ?? {}) as Partial<TurnImage>
  return typeof data === 'string' && typeof mediaType === 'string' && MEDIA_TYPE.test(mediaType)
}

const FOLDER = ['state', 'images']
const TURN_ID = /^[\w-]{1,64}$/
const MEDIA_TYPE = /^(?:image|application)\/[a-z0-9.+-]{1,60}$/
const MAX_BYTES = 64 * 1024 * 1024
