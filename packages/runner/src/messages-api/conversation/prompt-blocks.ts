import { stat } from 'node:fs/promises'
import { platform } from 'node:os'
import path from 'node:path'
import { HarnessError, type HarnessQuery, type ImageSource, type PromptPart } from '@chirality/core'
import { readCarefully } from '@chirality/disk'
import type { PromptBlock } from '../api/messages.ts'
import { MESSAGES_API_ID } from '../descriptor.ts'

export interface PromptBlocks {
  blocks: PromptBlock[]
  /** The text without the attachments, for display. */
  text: string
  attachments: number
}

/**
 * The prompt in the API's format. Throws for an empty prompt, and for a file that the API would refuse in this and
 * every later request.
 */
export async function promptBlocks(prompt: HarnessQuery['prompt']): Promise<PromptBlocks> {
  const parts: PromptPart[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  const attachments = parts.filter(part => part.type !== 'text').length
  const sent = parts.filter(part => part.type !== 'text' || part.text.trim() !== '')
  if (sent.length === 0) throw refused('The prompt is empty. Say what the agent should do.')
  return { blocks: await Promise.all(sent.map(promptBlock)), text, attachments }
}

async function promptBlock(part: PromptPart): Promise<PromptBlock> {
  if (part.type === 'text') return part
  const { type, source } = part
  const media_type = source.mediaType
  const { mediaTypes, maxBytes } = TAKEN[type]
  if (!mediaTypes.includes(media_type)) {
    throw refused(`A ${type} of type ${media_type} is not taken; use ${mediaTypes.join(', ')}.`)
  }
  const data = await readData(source, maxBytes)
  if (media_type !== 'text/plain') return { type, source: { type: 'base64', media_type, data } }
  const text = Buffer.from(data, 'base64').toString()
  return { type, source: { type: 'text', media_type, data: text } }
}

const MEBIBYTE = 1024 * 1024

const TAKEN = {
  image: { mediaTypes: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'], maxBytes: 5 * MEBIBYTE },
  document: { mediaTypes: ['application/pdf', 'text/plain'], maxBytes: 20 * MEBIBYTE },
}

/** Returns Base64. */
async function readData(source: ImageSource, maxBytes: number): Promise<string> {
  const tooBig = (what: string) =>
    refused(`${what} is over ${maxBytes / MEBIBYTE} MB, which the API does not take.`)
  if (source.kind === 'base64') {
    if (source.data === '') throw refused('An attachment is empty.')
    if (source.data.length > Math.ceil(maxBytes / 3) * 4) throw tooBig('An attachment')
    return source.data
  }
  const info = await stat(source.path).catch(() => null)
  if (!info?.isFile() || info.size === 0) throw refused(`${source.path} is not there, not a file, or empty.`)
  if (info.size > maxBytes) throw tooBig(source.path)
  const read = await readCarefully({ root: '/', path: path.resolve(source.path), links: 'inside', maxBytes })
  if (read !== undefined && 'bytes' in read) return read.bytes.toString('base64')
  throw refused(read?.fault.message ?? `${source.path} is not there.`)
}

function refused(message: string): HarnessError {
  return new HarnessError(message, 'invalid_query', MESSAGES_API_ID)
}

/** The system prompt: the given one replaces the default, the appended one follows it. */
export function systemPrompt(
  { systemPrompt, appendSystemPrompt, cwd }: HarnessQuery,
  toolNames: string[],
): string {
  return [systemPrompt ?? ownPrompt(cwd, toolNames), appendSystemPrompt].filter(Boolean).join('\n\n')
}

function ownPrompt(cwd: string, toolNames: string[]): string {
  const lines = [
    'You are a coding agent. You work in one project folder, for a person who reads what you write.',
    'Look before you change something, change no more than was asked for, and check that it works.',
    'When something fails or is not allowed, say so and do not pretend. Answer briefly.',
    '',
    `Project folder: ${cwd}`,
    `Operating system: ${platform()}`,
  ]
  if (toolNames.length > 0)
    lines.push(`Tools: ${toolNames.join(', ')}. Paths may be relative to the project folder.`)
  return lines.join('\n')
}
