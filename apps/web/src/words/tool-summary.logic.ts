import {
  answersOf,
  factsOf,
  type PermissionRequestEvent,
  type ToolFacts,
  type ToolItem,
} from '@chirality/core'
import Anser from 'anser'

export interface ToolSummary {
  name: string
  /** The one thing that says what the call is about: a path, a command, a pattern. */
  argument: string
  /** Outcome in a word or two. */
  note: string
}

export function toolSummary(
  tool: Pick<ToolItem, 'name' | 'input' | 'facts' | 'content' | 'status' | 'detail'>,
  cwd: string,
): ToolSummary {
  const facts = factsOf(tool)
  return {
    name: facts.label,
    argument: argumentOf(facts, cwd),
    note: answerNote(tool) || noteOf(tool, facts),
  }
}

/** The object of a call or a request, with paths inside the project without the project's own. */
export function argumentOf({ edits, object }: ToolFacts, cwd: string): string {
  if (edits === undefined) return relative(object, cwd)
  return oneLine(edits.map(({ path }) => relative(path, cwd)).join(', '))
}

export function requestArgument(request: PermissionRequestEvent, cwd: string): string {
  return argumentOf(factsOf(request), cwd)
}

/** A path inside the project without the project's own. */
export function relative(path: string, cwd: string): string {
  return cwd !== '' && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
}

const MAX_ARGUMENT_CHARS = 300

function oneLine(text: string): string {
  return text.slice(0, MAX_ARGUMENT_CHARS).replace(/\s+/g, ' ').trim()
}

/** Answers of the user, one for each question; empty without questions or answers. */
function answerNote(tool: Parameters<typeof toolSummary>[0]): string {
  if (tool.status !== 'done') return ''
  const line = oneLine(answersOf(tool).join(' · '))
  return line.length > MAX_ANSWER_CHARS ? `${line.slice(0, MAX_ANSWER_CHARS - 1)}…` : line
}

/** The whole answer is one click away; the line has to leave room for the question. */
const MAX_ANSWER_CHARS = 60

function noteOf({ status, content }: Pick<ToolItem, 'content' | 'status'>, { kind }: ToolFacts): string {
  if (status === 'failed') return 'failed'
  if (status === 'unfinished') return 'not finished'
  if (status === 'running' || content === null || kind !== 'search') return ''
  const lines = content.trim() === '' ? 0 : content.trim().split('\n').length
  return `${lines} ${lines === 1 ? 'line' : 'lines'}`
}

const LAST_CHARS = 2000

/** The last line that says something, without colours. */
export function lastLine(output: string): string {
  const lines = Anser.ansiToText(output.slice(-LAST_CHARS)).split(/[\r\n]+/)
  return oneLine(lines.findLast(line => line.trim() !== '') ?? '')
}

/** The plan that a call asked about, as Markdown. */
export function planOf(item: ToolItem): string | undefined {
  const { plan } = item.input
  return factsOf(item).kind === 'think' && typeof plan === 'string' && plan !== '' ? plan : undefined
}

/** Input of a call as text. */
export function inputText(item: ToolItem): string {
  if (Object.keys(item.input).length === 0) return ''
  return factsOf(item).command ?? JSON.stringify(item.input, null, 2)
}

/** Original input of a call that ran with another one; else empty. */
export function askedText({ asked, facts: _, ...item }: ToolItem): string {
  return asked === undefined ? '' : inputText({ ...item, ...asked })
}

/** The line of a command is the command: who looks for a word would find it twice. */
export function isSaidByHead(input: string, head: string): boolean {
  return input.trim() === head
}
