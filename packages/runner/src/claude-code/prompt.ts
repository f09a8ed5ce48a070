import { readFile, stat } from 'node:fs/promises'
import type { HarnessQuery, ImageSource, PromptPart } from '@chirality/core'
import { HarnessError } from '@chirality/core'
import { HARNESS_ID } from './config.ts'

export interface EncodedPrompt {
  inputFormat: 'text' | 'stream-json'
  /** All that goes to stdin before it is closed. */
  stdin: string
  /** The text of it, for people. */
  text: string
  attachments: number
}

/**
 * Text goes as it is; with images the message has to be a stream-json line. A prompt of nothing but blanks is refused
 * here, because one release of the CLI takes it, says nothing and exits with 0.
 */
export async function encodePrompt(prompt: HarnessQuery['prompt']): Promise<EncodedPrompt> {
  const parts: PromptPart[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  const attachments = parts.filter(part => part.type === 'image').length
  if (text.trim() === '' && attachments === 0)
    throw refused('The prompt is empty. Say what the agent should do.')
  if (attachments === 0) return { inputFormat: 'text', stdin: text, text, attachments }

  // The API refuses a text block of blanks.
  const sent = parts.filter(part => part.type === 'image' || part.text.trim() !== '')
  const content = await Promise.all(sent.map(part => (part.type === 'text' ? part : imageBlock(part.source))))
  const line = JSON.stringify({ type: 'user', message: { role: 'user', content } })
  return { inputFormat: 'stream-json', stdin: `${line}\n`, text, attachments }
}

async function imageBlock(source: ImageSource): Promise<Record<string, unknown>> {
  if (!IMAGE_TYPES.has(source.mediaType)) {
    throw refused(`Images of type ${source.mediaType} are not taken; use ${[...IMAGE_TYPES].join(', ')}.`)
  }
  const data = source.kind === 'base64' ? source.data : await readImage(source.path)
  return { type: 'image', source: { type: 'base64', media_type: source.mediaType, data } }
}

const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The API takes 5 MB an image; more than that only fills memory on the way to an error. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

async function readImage(path: string): Promise<string> {
  const info = await stat(path).catch((cause: unknown) => {
    throw refused(`The image ${path} cannot be read.`, cause)
  })
  if (!info.isFile()) throw refused(`The image ${path} is not a file.`)
  if (info.size > MAX_IMAGE_BYTES) throw refused(`The image ${path} is over ${MAX_IMAGE_BYTES} bytes.`)
  return readFile(path, 'base64')
}

function refused(message: string, cause?: unknown): HarnessError {
  return new HarnessError(message, 'invalid_query', HARNESS_ID, cause)
}
