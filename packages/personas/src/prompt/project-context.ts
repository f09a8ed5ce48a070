import { decodeText } from '../files/decode-text.ts'
import type { FileCache } from '../files/file-cache.ts'
import { PersonaError } from '../persona-error.ts'
import type { PromptPart } from './assemble.ts'
import { cutBytes } from './assemble.ts'

export interface ProjectContext {
  parts: PromptPart[]
  /** Files that are there but could not be used as they are. */
  warnings: string[]
}

/** The start of README.md and of AGENTS.md. A bad one is left out, and said: it must not keep a turn from starting. */
export async function readProjectContext(realRoot: string, files: FileCache): Promise<ProjectContext> {
  const parts: PromptPart[] = []
  const warnings: string[] = []
  for (const name of CONTEXT_FILES) {
    try {
      const head = await files.read({
        realRoot,
        relativePath: name,
        kind: 'context',
        maxBytes: MAX_CONTEXT_BYTES + LONGEST_CHARACTER_BYTES,
        parse: parseHead,
      })
      if (head === null) continue
      if (head.isRepaired)
        warnings.push(`${name}: is not UTF-8 everywhere; the bad bytes are shown as U+FFFD.`)
      if (head.isBinary) warnings.push(`${name}: is not text, and was left out of the prompt.`)
      else if (head.text.trim() !== '') parts.push({ name, text: head.text, droppedBytes: head.droppedBytes })
    } catch (error) {
      if (!(error instanceof PersonaError)) throw error
      warnings.push(`${error.message} It was left out of the prompt.`)
    }
  }
  return { parts, warnings }
}

/** In the order of the prompt. README.md is cut before AGENTS.md, which was written for agents. */
const CONTEXT_FILES = ['README.md', 'AGENTS.md']
const MAX_CONTEXT_BYTES = 4 * 1024
const LONGEST_CHARACTER_BYTES = 4

interface ContextHead {
  text: string
  droppedBytes: number
  isRepaired: boolean
  isBinary: boolean
}

function parseHead(bytes: Uint8Array, size: number): ContextHead {
  const decoded = decodeText(bytes, bytes.length < size)
  if (decoded.kind === 'binary') return { text: '', droppedBytes: size, isRepaired: false, isBinary: true }
  const text = cutBytes(decoded.text, MAX_CONTEXT_BYTES)
  const isWhole = text === decoded.text && bytes.length === size
  return {
    text,
    droppedBytes: isWhole ? 0 : Math.max(1, size - Buffer.byteLength(text)),
    isRepaired: decoded.kind === 'repaired',
    isBinary: false,
  }
}
