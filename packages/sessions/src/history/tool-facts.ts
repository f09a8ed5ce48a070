import { callWords, editsOf, type FileEdit, factsOf, type ToolItem } from '@chirality/core'

/** The main argument of a call on one line: the command, the file, the question. */
export function toolArgument(call: Parameters<typeof factsOf>[0]): string {
  const chars = [...factsOf(call).object]
  return chars.length > MAX_CHARS ? `${chars.slice(0, MAX_CHARS - 1).join('')}…` : chars.join('')
}

const MAX_CHARS = 120

/** How the call is told: its verb, and what is to be known beside its argument. */
export function toolTold(item: ToolItem): { verb: string; notes: string[]; isUndone: boolean } {
  const { state, verb, reason, edited } = callWords(item)
  const outcome = state === 'failed' || state === 'cut-off' ? state.replace('-', ' ') : reason
  const notes = [edited?.by, edited?.asked ? `asked for ${edited.asked}` : '', outcome, RUNNING[state]]
  return {
    verb,
    notes: notes.flatMap(note => note || []),
    isUndone: state === 'denied' || state === 'undone',
  }
}

const RUNNING: Partial<Record<string, string>> = { runs: 'running', background: 'in the background' }

/** The whole input, unless the main argument already shows it. */
export function toolInput(tool: ToolItem): string {
  const values = Object.values(tool.input)
  const isSaid = values.length === 1 && values[0] === toolArgument(tool)
  return values.length === 0 || isSaid ? '' : JSON.stringify(tool.input, null, 2)
}

/** The changes of a tool as diff lines; undefined when it changed no file, or does not report the changes. */
export function toolDiff(tool: Parameters<typeof editsOf>[0]): string[] | undefined {
  const edits = editsOf(tool)
  const lines = edits.flatMap(edit => {
    const changed = linesOf(edit)
    return edits.length > 1 && changed.length > 0 ? [`--- ${edit.path}`, ...changed] : changed
  })
  return lines.length > 0 ? lines : undefined
}

function linesOf({ change, hunks, text, swaps }: FileEdit): string[] {
  if (hunks !== undefined)
    return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
      `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
      ...lines,
    ])
  if (text !== undefined) return prefixed(change === 'delete' ? '-' : '+', text)
  return (swaps ?? []).flatMap(({ before, after }) => [...prefixed('-', before), ...prefixed('+', after)])
}

function prefixed(mark: string, text: string): string[] {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map(line => mark + line)
}
