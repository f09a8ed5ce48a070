import type { ToolItem } from '@chirality/core'
import Anser from 'anser'
import { own } from '../../ui/own.ts'

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
  tool: Pick<ToolItem, 'name' | 'input' | 'content' | 'status'>,
  cwd: string,
): ToolSummary {
  return { name: toolName(tool.name), argument: argumentOf(tool.input, cwd), note: noteOf(tool) }
}

/** `mcp__github__list` is `github list`. */
export function toolName(name: string): string {
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name)
  if (mcp) return `${mcp[1]} ${mcp[2]}`
  return own(NAMES, name) ?? (/^[a-z]+$/.test(name) ? name.charAt(0).toUpperCase() + name.slice(1) : name)
}

export function argumentOf(input: Record<string, unknown>, cwd: string): string {
  if (Array.isArray(input.changes)) return paths(input.changes, cwd)
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
