import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { toUSVString } from 'node:util'
import { HarnessError, type HarnessQuery, type PromptPart } from '@chirality/core'
import { readCarefully } from '@chirality/disk'
import type { AgentName } from '../../turn/turn-program.ts'

export interface PromptMessage {
  content: MessageContent
  /** The text of the prompt, for display. */
  text: string
  attachments: number
}

export interface EncodedPrompt {
  inputFormat: 'text' | 'stream-json'
  /** All input that goes to stdin before it is closed. */
  stdin: string
  /** The text of the prompt, for display. */
  text: string
  attachments: number
}

/**
 * Text is written as it is; with images the message has to be a stream-json line. A blank prompt is refused here,
 * because one release of the CLI accepts it, prints nothing and exits with 0.
 */
export async function encodePrompt(prompt: HarnessQuery['prompt'], agent: AgentName): Promise<EncodedPrompt> {
  const { content, text, attachments } = await promptMessage(prompt, agent)
  if (attachments === 0) return { inputFormat: 'text', stdin: text, text, attachments }
  return { inputFormat: 'stream-json', stdin: userLine(content), text, attachments }
}

/** The prompt as a message of the conversation. */
export async function promptMessage(
  prompt: HarnessQuery['prompt'],
  { harnessId }: AgentName,
): Promise<PromptMessage> {
  try {
    return await read(prompt)
  } catch (error) {
    if (!(error instanceof BadPart)) throw error
    throw new HarnessError(error.message, 'invalid_query', harnessId, error.cause)
  }
}

async function read(prompt: HarnessQuery['prompt']): Promise<PromptMessage> {
  const parts: PromptPart[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  const attachments = parts.filter(part => part.type !== 'text').length
  if (text.trim() === '' && attachments === 0)
    throw new BadPart('The prompt is empty. Say what the agent should do.')
  if (attachments === 0) return { content: text, text, attachments }
  // The API refuses a blank text block.
  const sent = parts.filter(part => part.type !== 'text' || part.text.trim() !== '')
  return { content: await Promise.all(sent.map(contentBlock)), text, attachments }
}

async function contentBlock(part: PromptPart): Promise<Record<string, unknown>> {
  if (part.type === 'text') return part
  const { type, source } = part
  const known = TYPES[type]
  if (!known.has(source.mediaType)) {
    throw new BadPart(`A ${type} of type ${source.mediaType} is not taken; use ${[...known].join(', ')}.`)
  }
  const data = source.kind === 'base64' ? source.data : await readAttachment(type, source.path)
  if (source.mediaType !== PLAIN_TEXT)
    return { type, source: { type: 'base64', media_type: source.mediaType, data } }
  const text = Buffer.from(data, 'base64').toString('utf8')
  return { type, source: { type: 'text', media_type: PLAIN_TEXT, data: text } }
}

const PLAIN_TEXT = 'text/plain'
const TYPES = {
  image: new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  document: new Set(['application/pdf', PLAIN_TEXT]),
}

/** The API takes 5 MB an image and 32 MB a request; more than that only fills memory on the way to an error. */
const MAX_ATTACHMENT_BYTES = 20 * 1024 * 1024

async function readAttachment(what: string, path: string): Promise<string> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new BadPart(`The ${what} ${path} cannot be read.`, cause)
  })
  if (!info.isFile()) throw new BadPart(`The ${what} ${path} is not a file.`)
  if (info.size > MAX_ATTACHMENT_BYTES)
    throw new BadPart(`The ${what} ${path} is over ${MAX_ATTACHMENT_BYTES} bytes.`)
  // Looked at again with the opening: it may have become something else since.
  const read = await readCarefully({
    root: '/',
    path: resolve(path),
    links: 'inside',
    maxBytes: MAX_ATTACHMENT_BYTES,
  })
  if (read !== undefined && 'bytes' in read) return read.bytes.toString('base64')
  throw new BadPart(`The ${what} ${path} cannot be read.`, read?.fault.message)
}

/** A part that cannot be sent. The caller adds which prompt it belongs to. */
class BadPart extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}

/** The content of a user message: a text, or blocks of text, images and documents. */
export type MessageContent = string | Record<string, unknown>[]

/** The agent repeats `uuid` when it takes the message up; before that, the message can be withdrawn by it. */
export function userLine(content: MessageContent, uuid?: string): string {
  return line({ type: 'user', message: { role: 'user', content }, ...(uuid ? { uuid } : {}) })
}

export function controlRequestLine(requestId: string, request: Record<string, unknown>): string {
  return line({ type: 'control_request', request_id: requestId, request })
}

export function controlResponseLine(requestId: string, response: Record<string, unknown>): string {
  const answer = { subtype: 'success', request_id: requestId, response }
  return line({ type: 'control_response', response: answer })
}

export function controlErrorLine(requestId: string, error: string): string {
  return line({ type: 'control_response', response: { subtype: 'error', request_id: requestId, error } })
}

/**
 * A line that is not JSON ends the agent, so every line is serialised here. A lone surrogate is valid JSON, but the
 * model's API refuses every later request of a conversation that contains one; and some line readers split at U+2028.
 */
function line(value: unknown): string {
  const json = JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? toUSVString(part) : part,
  )
  return `${json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`
}
