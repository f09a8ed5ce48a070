import type { ToolItem } from '@chirality/core'

/** The argument that a person would name: the command, the file, the question. One line. */
export function toolArgument(input: Record<string, unknown>): string {
  const values = [...TELLING.map(key => input[key]), ...Object.values(input)]
  const telling = values.find(value => typeof value === 'string' && value.trim() !== '')
  const line =
    typeof telling === 'string'
      ? telling
          .slice(0, MAX_CHARS * 10)
          .replace(/\s+/g, ' ')
          .trim()
      : ''
  const chars = [...line]
  return chars.length > MAX_CHARS ? `${chars.slice(0, MAX_CHARS - 1).join('')}…` : line
}

const TELLING = ['command', 'file_path', 'path', 'pattern', 'url', 'query', 'description', 'prompt']
const MAX_CHARS = 120

/** All of the input, unless its argument says it in full. */
export function toolInput(input: Record<string, unknown>): string {
  const values = Object.values(input)
  const isSaid = values.length === 1 && values[0] === toolArgument(input)
  return values.length === 0 || isSaid ? '' : JSON.stringify(input, null, 2)
}

/** What a tool changed, as the lines of a diff; undefined when it changed no file. Both agents' ways to tell are known. */
export function toolDiff({ input, detail }: Pick<ToolItem, 'input' | 'detail'>): string[] | undefined {
  const patch = listIn(detail, 'structuredPatch').flatMap(hunkLines)
  if (patch.length > 0) return patch
  const changes = listIn(detail, 'changes').flatMap(changeLines)
  if (changes.length > 0) return changes
  const { old_string: before, new_string: after } = input
  if (typeof before !== 'string' || typeof after !== 'string') return undefined
  return [...prefixed('-', before), ...prefixed('+', after)]
}

function hunkLines(hunk: unknown): string[] {
  const { oldStart, oldLines, newStart, newLines } = fieldsOf(hunk)
  const lines = listIn(hunk, 'lines').filter(line => typeof line === 'string')
  return lines.length === 0 ? [] : [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines]
}

function changeLines(change: unknown): string[] {
  const { path, diff } = fieldsOf(change)
  return typeof diff === 'string' ? [`--- ${path}`, ...diff.trimEnd().split('\n')] : []
}

function prefixed(mark: string, text: string): string[] {
  return text === '' ? [] : text.split('\n').map(line => mark + line)
}

function listIn(value: unknown, name: string): unknown[] {
  const list = fieldsOf(value)[name]
  return Array.isArray(list) ? list : []
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
