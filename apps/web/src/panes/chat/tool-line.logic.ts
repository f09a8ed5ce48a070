import {
  type CallWords,
  callState,
  callWords,
  editsOf,
  factsOf,
  type ToolItem,
  type ToolKind,
} from '@chirality/core'
import type { IconName } from '../../ui/marks/Icon.tsx'
import { plural } from '../../ui/text/format.ts'
import { argumentOf, toolSummary } from '../../words/tool-summary.logic.ts'

/** A call as one line: what was done, to what, and what came of it. */
export interface ToolLine extends CallWords {
  icon: IconName
  object: string
  /** Outcome in a word or two. */
  note: string
  isBad: boolean
}

export function toolLine(tool: ToolItem, cwd: string): ToolLine {
  const facts = factsOf(tool)
  const words = callWords(tool)
  const isBad = words.state === 'undone' || (tool.status === 'failed' && words.state !== 'denied')
  const object = argumentOf(facts, cwd)
  return { ...words, icon: iconOf(tool, words), object, note: noteOf(tool, words, cwd), isBad }
}

/** The reason says it where there is one. */
function noteOf(tool: ToolItem, { state, reason }: CallWords, cwd: string): string {
  if (reason !== '') return ''
  return state === 'cut-off' ? 'not finished' : toolSummary(tool, cwd).note
}

const ICONS: Readonly<Record<ToolKind, IconName>> = {
  read: 'file',
  edit: 'edit',
  execute: 'terminal',
  search: 'search',
  fetch: 'globe',
  think: 'think',
  task: 'bot',
  other: 'tool',
}

function iconOf(tool: ToolItem, { state }: CallWords): IconName {
  const { kind, questions } = factsOf(tool)
  if (state === 'denied') return 'ban'
  if (questions) return 'help'
  if (kind !== 'edit') return ICONS[kind]
  const changes = new Set(editsOf(tool).map(({ change }) => change))
  if (changes.size !== 1) return ICONS.edit
  return changes.has('add') ? 'file-add' : changes.has('delete') ? 'remove' : ICONS.edit
}

/** `edited by you; asked for rm -rf dist`. */
export function editedText({ by, asked }: NonNullable<CallWords['edited']>): string {
  return asked === '' ? by : `${by}; asked for ${asked}`
}

/** Kinds whose calls stand together in one line. Edits are read one by one, and so is what nobody knows. */
export type GroupKind = 'read' | 'search' | 'fetch' | 'execute'

/** The kind by which a call joins its neighbours; undefined for one that stands alone: it failed, waits, or was edited. */
export function groupKind(tool: ToolItem): GroupKind | undefined {
  const state = callState(tool)
  if ((state !== 'ran' && state !== 'runs') || tool.wait?.background || tool.asked) return undefined
  const { kind, todos, questions } = factsOf(tool)
  if (todos || questions) return undefined
  return kind === 'read' || kind === 'search' || kind === 'fetch' || kind === 'execute' ? kind : undefined
}

/** `Read 10 files`, `Running 2 commands`. */
export function groupLine(
  kind: GroupKind,
  tools: readonly ToolItem[],
): { icon: IconName; verb: string; object: string } {
  // All of them ran or run: the words of one that still runs are those of the group.
  const telling = tools.find(({ status }) => status === 'running') ?? tools[0]
  return {
    icon: kind === 'read' ? 'files' : ICONS[kind],
    verb: telling === undefined ? '' : callWords(telling).verb,
    object: countOf(kind, tools),
  }
}

function countOf(kind: GroupKind, tools: readonly ToolItem[]): string {
  switch (kind) {
    case 'read':
      // One file that is read in three pieces is one file.
      return plural(new Set(tools.map(tool => factsOf(tool).object)).size, 'file')
    case 'search':
      return plural(tools.length, 'time')
    case 'fetch':
      return plural(tools.length, 'page')
    case 'execute':
      return plural(tools.length, 'command')
  }
}

/** The calls' own time together; null while one of them runs. */
export function groupTime(tools: readonly ToolItem[]): number | null {
  let total = 0
  for (const { status, durationMs } of tools) {
    if (status === 'running') return null
    total += durationMs ?? 0
  }
  return total
}
