import {
  factsOf,
  type PermissionResolvedEvent,
  type ToolFacts,
  type ToolInputEvent,
  type ToolResultEvent,
  type ToolStartEvent,
} from '@chirality/core'
import { plain, type Style } from './style.ts'

/** One line for each call and one for each result. Tracks which tools run. */
export class ToolLines {
  readonly #paint: Style
  readonly #running = new Map<string, { name: string; nested: boolean }>()
  #lastShown: string | null = null

  constructor(paint: Style) {
    this.#paint = paint
  }

  /** Empty while the model still writes the input. */
  start(event: ToolStartEvent): string {
    this.#running.set(event.toolUseId, {
      name: plain(event.name),
      nested: event.parentToolUseId !== undefined,
    })
    return Object.keys(event.input).length > 0 ? this.#call(event.toolUseId, factsOf(event)) : ''
  }

  /** The whole input is known, and the tool starts to run. */
  complete(event: ToolInputEvent): string {
    const { toolUseId, input, facts } = event
    if (input === undefined) return ''
    return this.#call(toolUseId, facts ?? factsOf({ name: this.#running.get(toolUseId)?.name ?? '', input }))
  }

  /** The answer to a request: which input runs, or why none does. */
  decided(event: PermissionResolvedEvent): string {
    const { outcome, by, facts, message } = event
    if (facts !== undefined) {
      const who = by === 'person' ? 'edited by you' : 'edited'
      return `  ${this.#paint.cyan('▸')} ${this.#paint.bold(plain(facts.label))} ${plain(oneLine(facts.object))} ${this.#paint.dim(`(${who})`)}`
    }
    if (outcome !== 'denied') return ''
    const who = by === 'person' ? ' by you' : by === 'policy' ? ' by a rule' : ''
    const why = message === undefined ? '' : `: ${plain(oneLine(message))}`
    return `  ${this.#paint.red('✗')} denied${who}${why}`
  }

  #call(id: string, facts: ToolFacts): string {
    const tool = this.#running.get(id)
    if (!tool || this.#lastShown === id) return ''
    this.#lastShown = id
    const indent = tool.nested ? '  ' : ''
    const line = `${indent}${this.#paint.cyan('▸')} ${this.#paint.bold(tool.name)}`
    const about = oneLine(facts.object)
    return about === '' ? line : `${line} ${plain(about)}`
  }

  result(event: ToolResultEvent): string {
    const tool = this.#running.get(event.toolUseId)
    this.#running.delete(event.toolUseId)
    const indent = tool?.nested ? '    ' : '  '
    const mark = event.isError ? this.#paint.red('✗') : this.#paint.green('✓')
    // Results of parallel tools come in any order: only a result directly below its call needs no name.
    const whose = event.toolUseId === this.#lastShown ? '' : `${tool?.name ?? 'tool'}: `
    return `${indent}${mark} ${this.#paint.dim(whose + plain(resultSummary(event.content)))}`
  }
}

/** The first line of a result, and the number of lines. */
export function resultSummary(content: string): string {
  const text = content.trim()
  if (text === '') return 'no output'
  const end = text.indexOf('\n')
  if (end < 0) return oneLine(text)
  return `${oneLine(text.slice(0, end))} (${text.split('\n').length} lines)`
}

const MAX_CHARS = 100

/** Cut between characters, never inside one. */
function oneLine(text: string): string {
  // The input can be a whole file: only its beginning is needed.
  const line = text
    .slice(0, MAX_CHARS * 20)
    .replace(/\s+/g, ' ')
    .trim()
  const chars = [...line]
  return chars.length > MAX_CHARS ? `${chars.slice(0, MAX_CHARS - 1).join('')}…` : line
}
