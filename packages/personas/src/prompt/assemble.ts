import { createHash } from 'node:crypto'

/** Text of a file that goes into a prompt. */
export interface PromptPart {
  /** The file, as it is shown: `README.md`. */
  name: string
  /** A sentence before the text. */
  intro?: string
  text: string
  /** Bytes of the file that `text` no longer has. */
  droppedBytes?: number
}

export interface PromptParts {
  base: string
  /** The most important last: the first is cut first. */
  context: PromptPart[]
  persona?: PromptPart
  mode: string
  /** Text that the caller adds for this turn. Last, and kept before all that comes from files. */
  append?: string
}

export interface Truncation {
  part: string
  keptChars: number
  /** Includes the bytes of a project file beyond its first 4 KB, which are not read. */
  droppedChars: number
}

export interface AssembledPrompt {
  text: string
  estimatedTokens: number
  truncated: Truncation[]
}

export const MAX_PROMPT_TOKENS = 16_000
const CHARS_PER_TOKEN = 4

/**
 * Puts the parts in order and within the limit. The persona is cut first, then the project's context, then what the caller adds;
 * nothing else.
 */
export function assemblePrompt(parts: PromptParts, maxTokens = MAX_PROMPT_TOKENS): AssembledPrompt {
  const { base, context, persona, mode } = parts
  const modeText = `${MODE_HEADING}\n\n${mode}`
  let room = maxTokens * CHARS_PER_TOKEN - base.length - GAP.length - modeText.length
  const added = parts.append ? fitAppend(parts.append, room - GAP.length) : undefined
  if (added) room -= added.text.length + GAP.length
  const fit = (part: PromptPart) => {
    const section = fitSection(part, room - GAP.length)
    if (section.text !== '') room -= section.text.length + GAP.length
    return section
  }
  // Who comes first gets the room, so the first to be cut comes last.
  const contextSections = context.toReversed().map(fit).toReversed()
  const sections = persona ? [...contextSections, fit(persona)] : contextSections
  const bodies = sections.map(section => section.text).filter(text => text !== '')
  const text = [base, ...bodies, modeText, ...(added ? [added.text] : [])].join(GAP)
  const truncated = [...sections, ...(added ? [added] : [])]
    .map(section => section.truncation)
    .filter(entry => entry.droppedChars > 0)
  return { text, estimatedTokens: estimateTokens(text), truncated }
}

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN)
}

const GAP = '\n\n'
const MODE_HEADING = '# Mode'

interface Section {
  text: string
  truncation: Truncation
}

function fitSection(part: PromptPart, room: number): Section {
  const { name, text, droppedBytes = 0 } = part
  const whole = section(part, text, droppedBytes)
  if (whole.text.length <= room) return whole
  const notePlace = section(part, '', text.length + droppedBytes).text.length
  // The digits of what is kept may grow by as many as those of the whole.
  const kept = cutChars(text, room - notePlace - String(text.length).length)
  if (kept === '' && notePlace > room) {
    return { text: '', truncation: { part: name, keptChars: 0, droppedChars: text.length + droppedBytes } }
  }
  return section(part, kept, text.length - kept.length + droppedBytes)
}

function fitAppend(text: string, room: number): Section {
  const noted = (kept: string) => `${kept}\n[cut here: ${text.length - kept.length} characters left out]`
  const kept = text.length <= room ? text : cutChars(text, room - noted('').length)
  const truncation = { part: APPENDED, keptChars: kept.length, droppedChars: text.length - kept.length }
  return { text: kept === text ? text : noted(kept), truncation }
}

/** The name of what the caller adds, among what was cut. */
export const APPENDED = 'systemPromptAppend'

function section({ name, intro, text }: PromptPart, kept: string, dropped: number): Section {
  const mark = markOf(text)
  const lines = [
    ...(intro ? [intro] : []),
    `<project-file name="${name}" mark="${mark}">`,
    kept,
    ...(dropped > 0 ? [`[${name} was cut here: ${kept.length} characters shown, ${dropped} left out]`] : []),
    `</project-file mark="${mark}">`,
  ]
  return {
    text: lines.join('\n'),
    truncation: { part: name, keptChars: kept.length, droppedChars: dropped },
  }
}

/** A file cannot hold the mark that ends it, because the mark follows from all that it holds. */
function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, MARK_CHARS)
}

const MARK_CHARS = 16

/** The longest start of `text` with at most `maxChars` UTF-16 units that does not end inside a character. */
export function cutChars(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const end = Math.max(0, maxChars)
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)
}

/** The same for bytes of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length <= maxBytes) return text
  // In a stream the decoder keeps back a character whose end has not come.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, maxBytes), { stream: true })
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
