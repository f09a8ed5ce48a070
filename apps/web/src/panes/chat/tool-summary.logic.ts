import type { ToolItem } from '@chirality/core'
import Anser from 'anser'
import { own } from '../../ui/own.ts'
import { readQuestions } from '../decisions/decision.logic.ts'

export interface ToolSummary {
  name: string
  /** The one thing that says what the call is about: a path, a command, a pattern. */
  argument: string
  /** What came of it, in a word or two. */
  note: string
}

const ARGUMENTS = [
  'command',
  'file_path',
  'path',
  'notebook_path',
  'pattern',
  'query',
  'url',
  'description',
  'skill',
  'name',
  'prompt',
] as const

const NAMES: Readonly<Record<string, string>> = {
  command: 'Command',
  file_change: 'Edit',
  web_search: 'Search',
  view_image: 'Image',
  image_generation: 'Image',
  spawn_agent: 'Agent',
  TodoWrite: 'To do',
  AskUserQuestion: 'Question',
  ExitPlanMode: 'Plan',
}

const MAX_ARGUMENT_CHARS = 300

export function toolSummary(
  tool: Pick<ToolItem, 'name' | 'input' | 'content' | 'status' | 'detail'>,
  cwd: string,
): ToolSummary {
  return {
    name: toolName(tool.name),
    argument: argumentOf(tool.input, cwd),
    note: answerNote(tool) || noteOf(tool),
  }
}

/** `mcp__github__list` is `github list`. */
export function toolName(name: string): string {
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name)
  if (mcp) return `${mcp[1]} ${mcp[2]}`
  return own(NAMES, name) ?? (/^[a-z]+$/.test(name) ? name.charAt(0).toUpperCase() + name.slice(1) : name)
}

export function argumentOf(input: Record<string, unknown>, cwd: string): string {
  if (Array.isArray(input.changes)) return paths(input.changes, cwd)
  const questions = readQuestions(input)
  if (questions.length > 0) return oneLine(questions.map(({ name }) => name).join(' · '))
  if (Array.isArray(input.todos)) return `${input.todos.length} steps`
  for (const key of ARGUMENTS) {
    const value = input[key]
    if (typeof value === 'string' && value !== '')
      return oneLine(key === 'command' ? plainCommand(value) : relative(value, cwd))
  }
  const first = Object.values(input).find(value => typeof value === 'string' && value !== '')
  return typeof first === 'string' ? oneLine(first) : ''
}

/** What a shell was asked to run, without the shell around it. */
export function plainCommand(command: string): string {
  const wrapped = /^(?:\/usr)?(?:\/bin\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/.exec(command)
  return wrapped?.[2] ?? command
}

/** A path inside the project without the project's own. */
export function relative(path: string, cwd: string): string {
  return cwd !== '' && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
}

function paths(changes: unknown[], cwd: string): string {
  const names = changes.flatMap(change => {
    const path =
      typeof change === 'object' && change !== null ? (change as { path?: unknown }).path : undefined
    return typeof path === 'string' ? [relative(path, cwd)] : []
  })
  return oneLine(names.join(', '))
}

function oneLine(text: string): string {
  return text.slice(0, MAX_ARGUMENT_CHARS).replace(/\s+/g, ' ').trim()
}

/** What the person answered, of each question; empty where there was no question, or no answer. */
function answerNote({
  input,
  content,
  status,
  detail,
}: Omit<Parameters<typeof toolSummary>[0], 'name'>): string {
  if (status !== 'done') return ''
  const given = isObject(detail) && isObject(detail.answers) ? detail.answers : {}
  const answers = readQuestions(input).flatMap(({ name }) => {
    const answer = own(given, name) ?? lineBelow(content ?? '', name)
    return typeof answer === 'string' && answer !== '' ? [answer] : []
  })
  const line = oneLine(answers.join(' · '))
  return line.length > MAX_ANSWER_CHARS ? `${line.slice(0, MAX_ANSWER_CHARS - 1)}…` : line
}

/** The whole answer is one click away; the line has to leave room for the question. */
const MAX_ANSWER_CHARS = 60

/** An agent that gives no more than text back has each answer below the words of its question. */
function lineBelow(content: string, question: string): string | undefined {
  const at = `\n${content}`.indexOf(`\n${question}\n`)
  return at < 0 ? undefined : content.slice(at + question.length + 1).split('\n', 1)[0]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function noteOf({ status, content, name }: Pick<ToolItem, 'name' | 'content' | 'status'>): string {
  if (status === 'failed') return 'failed'
  if (status === 'unfinished') return 'not finished'
  if (status === 'running' || content === null) return ''
  if (/^(grep|glob|search)/i.test(name)) {
    const lines = content.trim() === '' ? 0 : content.trim().split('\n').length
    return `${lines} ${lines === 1 ? 'line' : 'lines'}`
  }
  return ''
}

const LAST_CHARS = 2000

/** The last line that says something, without colours. */
export function lastLine(output: string): string {
  const lines = Anser.ansiToText(output.slice(-LAST_CHARS)).split(/[\r\n]+/)
  return oneLine(lines.findLast(line => line.trim() !== '') ?? '')
}
