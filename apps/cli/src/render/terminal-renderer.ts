import {
  budgetText,
  type ChatCompleteEvent,
  type ChatMessageEvent,
  type Cost,
  costText,
  formatDuration,
  type NativeUnknownEvent,
  newSummary,
  type PermissionRequestEvent,
  riskTitle,
  type SessionErrorEvent,
  type StatusEvent,
  summarize,
  type TurnEndReason,
  turnCost,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import { agentName } from '../harnesses.ts'
import { plain, type Style, style } from './style.ts'
import { ToolLines } from './tool-lines.ts'

/** Turns UI events into text for a terminal: streamed answers, one line for each tool, the cost at the end. */
export class TerminalRenderer {
  readonly #paint: Style
  readonly #tools: ToolLines
  readonly #streamed = new Set<string>()
  readonly #strange = new Set<string>()
  #header = ''
  /** The same fold as in the dashboard and the budgets. */
  readonly #summary = newSummary('')
  #hasAnswer = false
  #atLineStart = true

  constructor(options: { colour: boolean }) {
    this.#paint = style(options.colour)
    this.#tools = new ToolLines(this.#paint)
  }

  render(event: UIEvent): string {
    summarize(this.#summary, { event, at: '', turnId: null })
    const text = this.#text(event)
    if (text !== '') this.#atLineStart = text.endsWith('\n')
    return text
  }

  #text(event: UIEvent): string {
    const paint = this.#paint
    switch (event.type) {
      case 'session:init': {
        const parts = [event.model, event.version && `${agentName(event.harness)} ${event.version}`]
        if (event.claudeSessionId) parts.push(`session ${event.claudeSessionId}`)
        return this.#once(parts.filter(Boolean).join(' · '))
      }
      case 'chat:delta':
        if (event.parentToolUseId || event.text === '') return ''
        this.#streamed.add(event.messageId ?? '')
        return plain(event.text)
      case 'chat:message':
        return event.parentToolUseId ? '' : this.#message(event)
      case 'chat:complete':
        return this.#complete(event)
      case 'tool:start':
        return this.#line(this.#tools.start(event))
      case 'tool:input':
        return this.#line(this.#tools.complete(event))
      case 'tool:result':
        return this.#line(this.#tools.result(event))
      case 'status':
        return this.#status(event)
      case 'permission:request':
        return this.#line(
          paint.yellow(`? ${plain(event.toolName)} asks for permission`) +
            this.#risks(event) +
            this.#always(event),
        )
      case 'permission:resolved':
        return this.#line(this.#tools.decided(event))
      case 'budget':
        return event.exceeded ? this.#line(paint.yellow(`· ${plain(budgetText(event))}`)) : ''
      case 'log:gap':
        return this.#line(paint.yellow(`· ${event.missing} events are missing here: ${plain(event.reason)}`))
      case 'native:unknown':
        return this.#unknown(event)
      case 'session:error':
        return this.#error(event)
      case 'session:complete':
        return this.#line(paint.dim(costLine({ ...event, cost: this.#cost })))
      case 'turn:end':
        return STOPPED.has(event.reason) ? this.#line(paint.yellow(`■ ${event.reason}`)) : ''
      case 'process:exit':
        return event.leftRunning ? this.#line(paint.red(`✗ Still running: ${event.leftRunning}`)) : ''
      default:
        return ''
    }
  }

  /** A process that goes on after its answer repeats its `session:init`. */
  #once(header: string): string {
    if (header === this.#header) return ''
    this.#header = header
    return this.#line(this.#paint.dim(plain(header)))
  }

  #risks({ risks = [] }: PermissionRequestEvent): string {
    return risks.length === 0 ? '' : this.#paint.red(` · ${plain(riskTitle(risks))}`)
  }

  /** The rule that "always" would write, in one line. */
  #always({ always }: PermissionRequestEvent): string {
    return always === undefined ? '' : this.#paint.dim(` · always: ${plain(always.rule)}`)
  }

  #message(event: ChatMessageEvent): string {
    const wasStreamed = this.#streamed.has(event.messageId)
    // Text in a terminal cannot be withdrawn.
    if (event.discarded) return wasStreamed ? this.#line(this.#paint.yellow('· Broke off; starts again')) : ''
    this.#hasAnswer = true
    return wasStreamed ? this.#fresh() : this.#line(plain(event.text))
  }

  /** The answer of a slash command is not part of any message. */
  #complete(event: ChatCompleteEvent): string {
    const isNew = !this.#hasAnswer
    this.#hasAnswer = false
    return isNew ? this.#line(plain(event.text)) : ''
  }

  #status(event: StatusEvent): string {
    if (QUIET.has(event.status) || event.message === '') return ''
    const paint = event.level === 'info' ? this.#paint.dim : this.#paint.yellow
    return this.#line(paint(`· ${plain(event.message)}`))
  }

  /** Printed once for each kind: a program that prints garbage prints a lot of it, and the raw log has all of it. */
  #unknown({ nativeType }: NativeUnknownEvent): string {
    if (this.#strange.has(nativeType)) return ''
    this.#strange.add(nativeType)
    const what = UNREADABLE.get(nativeType) ?? `An event this version does not know: ${plain(nativeType)}`
    return this.#line(this.#paint.yellow(`? ${what}`))
  }

  #error(event: SessionErrorEvent): string {
    const { usage } = event
    const cost = usage ? this.#paint.dim(costLine({ usage, cost: this.#cost })) : ''
    const isStop = STOP_CODES.has(event.code)
    const paint = event.recovered ? this.#paint.yellow : this.#paint.red
    return this.#line(isStop ? '' : paint(`✗ ${plain(event.error)}`), cost)
  }

  /** The usage of the turn so far. */
  get #cost(): Cost {
    return turnCost(this.#summary)
  }

  /** Prints whole lines, on lines of their own. */
  #line(...lines: string[]): string {
    const shown = lines.filter(line => line !== '')
    return shown.length === 0 ? '' : `${this.#fresh()}${shown.join('\n')}\n`
  }

  #fresh(): string {
    return this.#atLineStart ? '' : '\n'
  }
}

/** A stop from outside, which no error of the agent reports. */
const STOPPED: ReadonlySet<TurnEndReason> = new Set(['interrupted', 'killed', 'timeout'])
/** The end of the turn reports it. */
const STOP_CODES: ReadonlySet<SessionErrorEvent['code']> = new Set(['interrupted', 'timeout'])

const QUIET: ReadonlySet<StatusEvent['status']> = new Set([
  'requesting',
  'idle',
  'tool_progress',
  'permission_mode',
])

const UNREADABLE: ReadonlyMap<string, string> = new Map([
  ['malformed', 'The agent printed something that is not JSON; the raw log has it'],
  ['oversize', 'The agent printed a line that is too long to read; the raw log has it'],
])

/** `$0.0012 · 100 in · 20 out · 300 ms`; without the cost if it is unknown, and with ≈ if a part is by list price. */
function costLine(turn: {
  cost: Pick<Cost, 'usd' | 'isEstimate'>
  usage: UsageInfo
  durationMs?: number
}): string {
  const { cost, usage, durationMs } = turn
  const input =
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const parts = [`${input} in`, `${usage.output_tokens} out`]
  const text = costText(cost)
  if (text !== undefined) parts.unshift(text)
  if (durationMs !== undefined) parts.push(formatDuration(durationMs))
  return parts.join(' · ')
}
