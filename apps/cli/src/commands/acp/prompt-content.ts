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
  let text = ''
  for (const block of blocks.map(asObject)) {
    const resource = asObject(block.resource)
    if (block.type === 'text' && typeof block.text === 'string') text += block.text
    else if (block.type === 'resource_link' && typeof block.uri === 'string')
      text += reference(block.uri, block.name, cwd)
    else if (block.type === 'image') images.push(image(block.data, block.mimeType))
    else if (block.type === 'resource' && typeof resource.text === 'string') {
      const uri = String(resource.uri ?? '')
      text += reference(uri, undefined, cwd)
      contexts.push(`<context ref=${JSON.stringify(uri)}>\n${resource.text}\n</context>`)
    } else if (block.type === 'resource' && String(resource.mimeType).startsWith('image/'))
      images.push(image(resource.blob, resource.mimeType))
    else
      throw invalid(
        `The prompt has a part that is not taken (${String(block.type)}). Text, images, links and text of files are.`,
      )
  }
  const message = [text, ...contexts].join('\n\n').trim()
  if (message === '' && images.length === 0)
    throw invalid('The prompt is empty. Say what the agent should do.')
  return { message: message || 'See the image.', images }
}

/** A file as agents know it: `@src/main.ts`; anything else by its address. */
function reference(uri: string, name: unknown, cwd: string): string {
  if (!uri.startsWith('file://')) return typeof name === 'string' && name !== uri ? `${name} (${uri})` : uri
  try {
    const { hash } = new URL(uri)
    const file = fileURLToPath(uri.slice(0, uri.length - hash.length))
    const inside = path.relative(cwd, file)
    const shown = inside !== '' && !inside.startsWith('..') && !path.isAbsolute(inside) ? inside : file
    return `@${shown}${/^#L[\d:-]+/.exec(hash)?.[0] ?? ''}`
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
