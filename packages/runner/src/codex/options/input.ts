import { rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { HarnessError, type HarnessQuery, type ImageSource, type PromptPart } from '@chirality/core'
import { makeTempFolder } from '../../process/spool/temp-folder.ts'
import { CODEX_ID } from '../descriptor.ts'

export interface CodexInput {
  text: string
  /** File paths, because Codex accepts images only as files. */
  images: string[]
  /** Removes the files that were written for images given as data. */
  cleanup(): Promise<void>
}

/**
 * The prompt in Codex's format. Refuses an empty prompt, and an image that does not exist: Codex would report neither.
 */
export async function codexInput(
  prompt: HarnessQuery['prompt'],
  environment: Record<string, string>,
): Promise<CodexInput> {
  const parts: PromptPart[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  if (parts.some(({ type }) => type === 'document'))
    throw new HarnessError('Codex takes no documents. Name the file in the message.', 'unsupported', CODEX_ID)
  const sources = parts.flatMap(part => (part.type === 'image' ? [part.source] : []))
  if (text.trim() === '' && sources.length === 0)
    throw refused('The prompt is empty. Say what the agent should do.')
  const files = new ImageFiles(environment)
  try {
    const images: string[] = []
    for (const source of sources) images.push(await files.pathOf(source))
    return { text, images, cleanup: () => files.remove() }
  } catch (error) {
    await files.remove()
    throw error
  }
}

class ImageFiles {
  readonly #environment: Record<string, string>
  #folder: string | null = null
  #count = 0

  constructor(environment: Record<string, string>) {
    this.#environment = environment
  }

  async pathOf(source: ImageSource): Promise<string> {
    const extension = EXTENSIONS[source.mediaType]
    if (!extension) {
      throw refused(
        `Images of type ${source.mediaType} are not taken; use ${Object.keys(EXTENSIONS).join(', ')}.`,
      )
    }
    if (source.kind === 'path') return existingFile(source.path)
    this.#folder ??= await makeTempFolder(this.#environment, CODEX_ID)
    this.#count += 1
    const file = path.join(this.#folder, `image-${this.#count}.${extension}`)
    await writeFile(file, Buffer.from(source.data, 'base64'), { mode: 0o600, flag: 'wx' })
    return file
  }

  async remove(): Promise<void> {
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true })
    this.#folder = null
  }
}

async function existingFile(file: string): Promise<string> {
  const info = await stat(file).catch(() => null)
  if (!info?.isFile()) throw refused(`The image ${file} is not there or not a file.`)
  return path.resolve(file)
}

const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

function refused(message: string): HarnessError {
  return new HarnessError(message, 'invalid_query', CODEX_ID)
}
