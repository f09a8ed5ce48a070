import type { ToolResultEvent, ToolStartEvent } from '@chirality/core'
import { plain } from './plain.ts'
import type { Style } from './style.ts'
import { resultSummary, toolSummary } from './tool-summary.ts'

/** A line for each call and one for each result. Knows which tools run. */
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
    return Object.keys(event.input).length > 0 ? this.input(event.toolUseId, event.input) : ''
  }

  /** All of the input is known, which is when the tool starts to run. */
  input(id: string, input: Record<string, unknown>): string {
    const tool = this.#running.get(id)
    if (!tool || this.#lastShown === id) return ''
    this.#lastShown = id
    const indent = tool.nested ? '  ' : ''
    const line = `${indent}${this.#paint.cyan('▸')} ${this.#paint.bold(tool.name)}`
    const about = toolSummary(input)
    return about === '' ? line : `${line} ${plain(about)}`
  }

  result(event: ToolResultEvent): string {
    const tool = this.#running.get(event.toolUseId)
    this.#running.delete(event.toolUseId)
    const indent = tool?.nested ? '    ' : '  '
    const mark = event.isError ? this.#paint.red('✗') : this.#paint.green('✓')
    // Results of parallel tools come in any order: only the one right below its call needs no name.
    const whose = event.toolUseId === this.#lastShown ? '' : `${tool?.name ?? 'tool'}: `
    return `${indent}${mark} ${this.#paint.dim(whose + plain(resultSummary(event.content)))}`
  }
}
