import { join } from 'node:path'
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

/**
 * What the agent has to know before its next message, such as which of its changes a person took back:
 * `.chirality/state/notes/<sessionId>.json`, until a turn has told it.
 */
export class AgentNotes {
  readonly #projectRoot: string
  readonly #name: string
  readonly #ops: FileOps

  constructor(projectRoot: string, sessionId: string, ops: FileOps = realFileOps) {
    this.#projectRoot = projectRoot
    this.#name = `${requireSessionId(sessionId)}.json`
    this.#ops = ops
  }

  async read(): Promise<string[]> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    const text = folder && readSmallFile(this.#ops, join(folder, this.#name), MAX_BYTES)?.toString('utf8')
    try {
      const notes: unknown = JSON.parse(text ?? '[]')
      return Array.isArray(notes) ? notes.filter(note => typeof note === 'string') : []
    } catch {
      return []
    }
  }

  /** The oldest are dropped when there are too many. */
  async add(note: string): Promise<void> {
    await this.#write([...(await this.read()), note.slice(0, MAX_NOTE_CHARS)].slice(-MAX_NOTES))
  }

  /** Those that the agent was told. What was added since then stays. */
  async remove(told: readonly string[]): Promise<void> {
    const left = (await this.read()).filter(note => !told.includes(note))
    if (left.length > 0) return this.#write(left)
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder !== undefined) removeIfThere(this.#ops, join(folder, this.#name))
  }

  async #write(notes: readonly string[]): Promise<void> {
    const path = join(await ensureProjectFolder(this.#projectRoot, ...FOLDER), this.#name)
    try {
      await writeFileAtomic(path, `${JSON.stringify(notes)}\n`, { ops: this.#ops })
    } catch (error) {
      throw toStorageError(error, path)
    }
  }
}

/** The message as the agent gets it. */
export function withNotes(notes: readonly string[], message: string): string {
  if (notes.length === 0) return message
  const list = notes.map(note => `- ${note}`).join('\n')
  return `[Since your last message, outside of this conversation:\n${list}]\n\n${message}`
}

const FOLDER = ['state', 'notes']
const MAX_NOTES = 50
const MAX_NOTE_CHARS = 2000
const MAX_BYTES = 1024 * 1024
