import type { PromptPart } from '@chirality/core'
import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'

export interface Attachment {
  id: string
  name: string
  part: PromptPart
  /** For a picture: what to show. */
  preview: string | null
}

const MAX_IMAGE_BYTES = 5 * 1024 * 1024
const MAX_TEXT_BYTES = 256 * 1024
export const MAX_ATTACHMENTS = 20
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export type Attached = { attachment: Attachment } | { problem: string }

/** A file that was dropped or pasted, as a part of the message: pictures as they are, everything else as text. */
export async function attach(file: File, takesImages: boolean): Promise<Attached> {
  const name = file.name || 'pasted image'
  if (IMAGE_TYPES.has(file.type)) {
    if (!takesImages) return { problem: `This agent takes no images: ${name} was left out.` }
    if (file.size > MAX_IMAGE_BYTES)
      return { problem: `${name} is larger than 5 MB. Attach a smaller image.` }
    const data = toBase64(new Uint8Array(await file.arrayBuffer()))
    const part: PromptPart = { type: 'image', source: { kind: 'base64', data, mediaType: file.type } }
    return {
      attachment: { id: crypto.randomUUID(), name, part, preview: `data:${file.type};base64,${data}` },
    }
  }
  if (file.size > MAX_TEXT_BYTES)
    return { problem: `${name} is larger than 256 KB. Mention it with @ instead.` }
  const text = await file.text()
  if (text.includes('\0')) return { problem: `${name} is neither a picture nor text.` }
  const part: PromptPart = { type: 'text', text: `The file ${name}:\n\n${text}` }
  return { attachment: { id: crypto.randomUUID(), name, part, preview: null } }
}

const CHUNK = 0x8000

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let i = 0; i < bytes.length; i += CHUNK) binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK))
  return btoa(binary)
}

const NONE: readonly Attachment[] = []
const attached = new Map<string, readonly Attachment[]>()
const listeners = new Listeners()

/** Files for the next message of a session. A look at another one does not drop them; closing the page does. */
export function useAttached(sessionId: string): readonly Attachment[] {
  return useSyncExternalStore(listeners.subscribe, () => readAttached(sessionId))
}

export function readAttached(sessionId: string): readonly Attachment[] {
  return attached.get(sessionId) ?? NONE
}

export function saveAttached(sessionId: string, list: readonly Attachment[]): void {
  if (list.length === 0) attached.delete(sessionId)
  else attached.set(sessionId, list)
  listeners.tell()
}
