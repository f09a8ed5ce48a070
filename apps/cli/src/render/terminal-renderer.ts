import type { StatusEvent, ToolResultEvent, ToolStartEvent, UIEvent, UsageInfo } from '@chirality/core'
import { plain, type Style, style } from './style.ts'
import { resultSummary, toolSummary } from './tool-line.ts'

/** Turns UI events into text for a terminal: streamed answers, a line for each tool, the cost at the end. */
export class TerminalRenderer {
  private readonly paint: Style
  /** Tools that have no result yet. */
  private readonly tools = new Map<string, { name: string; nested: boolean }>()
  private lastTool: string | null = null
  private readonly streamed = new Set<string>()
  private column = 0

  constructor(options: { colour: boolean }) {
    this.paint = style(options.colour)
  }

  render(event: UIEvent): string {
    const text = this.text(event)
    const end = text.lastIndexOf('\n')
    if (text !== '') this.column = end < 0 ? this.column + text.length : text.length - end - 1
    return text
  }

  private text(event: UIEvent): string {
    const { paint } = this
    switch (event.type) {
      case 'session:init':
        return this.line(paint.dim(`${event.model}${event.version ? ` · Claude Code ${event.version}` : ''}`))
      case 'chat:delta':
        if (event.parentToolUseId) return ''
        this.streamed.add(event.messageId ?? '')
        return plain(event.text)
      case 'chat:message':
        if (event.parentToolUseId || event.discarded) return ''
        return this.streamed.has(event.messageId) ? this.fresh() : this.line(plain(event.text))
      case 'tool:start':
        return this.startTool(event)
      case 'tool:input':
        return event.input ? this.toolLine(event.toolUseId, event.input) : ''
      case 'tool:result':
        return this.resultLine(event)
      case 'status':
        return this.statusLine(event)
      case 'session:error':
        return this.line(paint.red(`✗ ${plain(event.error)}`))
      case 'session:complete':
        return this.line(paint.dim(summary(event.costUsd, event.usage, event.durationMs)))
      case 'native:unknown':
        return this.line(paint.dim(`? ${event.nativeType}: an event this version does not know`))
      case 'turn:end':
        return event.reason === 'completed' || event.reason === 'failed'
          ? ''
          : this.line(paint.yellow(event.reason))
      case 'process:exit':
        return event.leftRunning
          ? this.line(paint.red(`${event.leftRunning} processes are still running`))
          : ''
      default:
        return ''
    }
  }

  private startTool(event: ToolStartEvent): string {
    this.tools.set(event.toolUseId, { name: event.name, nested: event.parentToolUseId !== undefined })
    return Object.keys(event.input).length > 0 ? this.toolLine(event.toolUseId, event.input) : ''
  }

  /** Printed when the whole input is known, which is when the tool starts to run. */
  private toolLine(id: string, input: Record<string, unknown>): string {
    const tool = this.tools.get(id)
    if (!tool) return ''
    this.lastTool = id
    const indent = tool.nested ? '  ' : ''
    const about = plain(toolSummary(input))
    return this.line(
      `${indent}${this.paint.cyan('▸')} ${this.paint.bold(plain(tool.name))} ${about}`.trimEnd(),
    )
  }

  private resultLine(event: ToolResultEvent): string {
    const tool = this.tools.get(event.toolUseId)
    this.tools.delete(event.toolUseId)
    const indent = tool?.nested ? '    ' : '  '
    const mark = event.isError ? this.paint.red('✗') : this.paint.green('✓')
    // Results of parallel tools come in any order: only the one right below its call needs no name.
    const whose = event.toolUseId === this.lastTool ? '' : `${plain(tool?.name ?? 'tool')}: `
    return this.line(`${indent}${mark} ${this.paint.dim(whose + plain(resultSummary(event.content)))}`)
  }

  private statusLine(event: StatusEvent): string {
    if (QUIET.has(event.status) || event.message === '') return ''
    const paint = event.level === 'info' ? this.paint.dim : this.paint.yellow
    return this.line(paint(`· ${plain(event.message)}`))
  }

  /** Whole lines, on a line of their own. */
  private line(...lines: string[]): string {
    return `${this.fresh()}${lines.join('\n')}\n`
  }

  private fresh(): string {
    return this.column > 0 ? '\n' : ''
  }
}

const QUIET: ReadonlySet<StatusEvent['status']> = new Set([
  'requesting',
  'idle',
  'tool_progress',
  'permission_mode',
])

function summary(costUsd: number, usage: UsageInfo, durationMs: number | undefined): string {
  const input =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const parts = [`$${costUsd.toFixed(4)}`, `${input} in`, `${usage.output_tokens} out`]
  if (durationMs !== undefined) parts.push(`${(durationMs / 1000).toFixed(1)} s`)
  return parts.join(' · ')
}
