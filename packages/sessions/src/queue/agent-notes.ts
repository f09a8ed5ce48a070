import { type FileOps, toStorageError, writeFileAtomic } from '@chirality/disk'
import { SessionStateFile } from '../files/session-state-file.ts'

/**
 * What the agent has to know before its next message, such as which of its changes a person took back:
 * `.chirality/state/notes/<sessionId>.json`, until a turn has told it.
 */
export class AgentNotes extends SessionStateFile {
  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    super({ projectRoot, sessionId, ops }, { kind: 'notes', ending: '.json' })
  }

  async read(): Promise<string[]> {
    const text = await this.readText(MAX_BYTES)
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

  /** Removes the notes that the agent was told. Notes that were added since then stay. */
  async forget(told: readonly string[]): Promise<void> {
    const left = (await this.read()).filter(note => !told.includes(note))
    await (left.length > 0 ? this.#write(left) : this.remove())
  }

  async #write(notes: readonly string[]): Promise<void> {
    const path = await this.ensurePath()
    try {
      await writeFileAtomic(path, `${JSON.stringify(notes)}\n`, { ops: this.ops })
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

const MAX_NOTES = 50
const MAX_NOTE_CHARS = 2000
const MAX_BYTES = 1024 * 1024
