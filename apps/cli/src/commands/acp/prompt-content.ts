import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { asObject, EditorError, RPC } from './editor-connection.ts'

export interface PromptContent {
  message: string
  images: { type: 'image'; source: { kind: 'base64'; data: string; mediaType: string } }[]
}

/** The message of a turn, from the content blocks of a prompt. Files are named by their path in the project. */
export function promptContent(blocks: unknown, cwd: string): PromptContent {
  if (!Array.isArray(blocks)) throw invalid('"prompt" must be a list of content blocks.')
  const images: PromptContent['images'] = []
  const contexts: string[] = []
  const parts: Part[] = []
  const refer = (uri: string, name?: unknown) =>
    void parts.push({ text: reference(uri, name, cwd), isLink: true })
  for (const block of blocks.map(asObject)) {
    const resource = asObject(block.resource)
    const uri = String(resource.uri ?? '')
    if (block.type === 'text' && typeof block.text === 'string')
      parts.push({ text: block.text, isLink: false })
    else if (block.type === 'resource_link' && typeof block.uri === 'string') refer(block.uri, block.name)
    else if (block.type === 'image') images.push(image(block.data, block.mimeType))
    else if (block.type === 'resource' && typeof resource.text === 'string') {
      refer(uri)
      contexts.push(`<context ref=${JSON.stringify(uri)}>\n${resource.text}\n</context>`)
    } else if (block.type === 'resource' && String(resource.mimeType).startsWith('image/')) {
      if (uri !== '') refer(uri)
      images.push(image(resource.blob, resource.mimeType))
    } else if (block.type === 'resource' && uri.startsWith('file://')) refer(uri)
    else
      throw invalid(
        `The prompt has a part that is not taken (${String(block.type)}). Text, images, links and text of files are.`,
      )
  }
  const message = [joined(parts), ...contexts].join('\n\n').trim()
  if (message === '' && images.length === 0)
    throw invalid('The prompt is empty. Say what the agent should do.')
  return { message: message || 'See the image.', images }
}

interface Part {
  text: string
  isLink: boolean
}

/** Blocks stay apart: a path that runs on into the next word would name another file. */
function joined(parts: Part[]): string {
  let text = ''
  let before: Part | undefined
  for (const part of parts) {
    if (part.text === '') continue
    const isApart = text === '' || /\s$/.test(text) || /^\s/.test(part.text)
    const between = before?.isLink || part.isLink ? ' ' : '\n\n'
    text += isApart ? part.text : between + part.text
    before = part
  }
  return text
}

/** A file as agents know it: `@src/main.ts`; anything else by its address. */
function reference(uri: string, name: unknown, cwd: string): string {
  if (!uri.startsWith('file://')) return typeof name === 'string' && name !== uri ? `${name} (${uri})` : uri
  try {
    const { hash } = new URL(uri)
    const file = fileURLToPath(uri.slice(0, uri.length - hash.length))
    const inside = path.relative(cwd, file)
    const shown = inside !== '' && !inside.startsWith('..') && !path.isAbsolute(inside) ? inside : file
    const place = `${shown}${/^#L[\d:-]+/.exec(hash)?.[0] ?? ''}`
    return /\s/.test(place) ? `@"${place}"` : `@${place}`
  } catch {
    return uri
  }
}

function image(data: unknown, mediaType: unknown): PromptContent['images'][number] {
  if (typeof data !== 'string' || typeof mediaType !== 'string')
    throw invalid('An image needs "data" in base64, and "mimeType".')
  return { type: 'image', source: { kind: 'base64', data, mediaType } }
}

function invalid(message: string): EditorError {
  return new EditorError(RPC.invalidParams, message)
}
