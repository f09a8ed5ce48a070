import { editsOf, factsOf, type ToolItem, type ToolKind } from '@chirality/core'
import type { IconName } from '../../ui/marks/Icon.tsx'
import { plural } from '../../ui/text/format.ts'
import { argumentOf, toolSummary } from './tool-summary.logic.ts'

/** A call as one line: what was done, to what, and what came of it. */
export interface ToolLine {
  icon: IconName
  /** In the past tense, or the present while it runs. */
  verb: string
  object: string
  /** What came of it, in a word or two. */
  note: string
  isBad: boolean
}

export function toolLine(tool: ToolItem, cwd: string): ToolLine {
  const facts = factsOf(tool)
  const { note } = toolSummary(tool, cwd)
  const isRunning = tool.status === 'running'
  const object = argumentOf(facts, cwd)
  const isDenied = tool.wait?.denied === true && tool.status === 'failed'
  const outcome = { object, note: isDenied ? 'denied' : note, isBad: tool.status === 'failed' && !isDenied }
  if (facts.questions) return { icon: 'help', verb: isRunning ? 'Asking' : 'Asked', ...outcome }
  // A call that waits for a person neither runs nor ran.
  const waits = isRunning && (tool.wait?.askedAt ?? null) !== null
  const { icon, past, present } = facts.kind === 'edit' ? editWords(tool) : WORDS[facts.kind]
  return { icon, verb: (waits ? undefined : isRunning ? present : past) ?? facts.label, ...outcome }
}

interface Words {
  icon: IconName
  /** Undefined where the tool's own name says more. */
  past?: string
  present?: string
}

const WORDS: Readonly<Record<ToolKind, Words>> = {
  read: { icon: 'file', past: 'Read', present: 'Reading' },
  edit: { icon: 'edit', past: 'Edited', present: 'Editing' },
  execute: { icon: 'terminal', past: 'Ran', present: 'Running' },
  search: { icon: 'search', past: 'Searched', present: 'Searching' },
  fetch: { icon: 'globe', past: 'Fetched', present: 'Fetching' },
  think: { icon: 'think' },
  task: { icon: 'bot' },
  other: { icon: 'tool' },
}

function editWords(tool: ToolItem): Words {
  const changes = new Set(editsOf(tool).map(({ change }) => change))
  if (changes.size !== 1) return WORDS.edit
  if (changes.has('add')) return { icon: 'file-add', past: 'Wrote', present: 'Writing' }
  return changes.has('delete') ? { icon: 'remove', past: 'Deleted', present: 'Deleting' } : WORDS.edit
}

/** Kinds whose calls stand together in one line. Edits are read one by one, and so is what nobody knows. */
export type GroupKind = 'read' | 'search' | 'fetch' | 'execute'

/** The kind by which a call joins its neighbours; undefined for one that stands alone: it failed, or waits for a person. */
export function groupKind(tool: ToolItem): GroupKind | undefined {
  if (tool.status === 'failed' || tool.status === 'unfinished') return undefined
  if (tool.wait?.background || (tool.wait?.askedAt ?? null) !== null) return undefined
  const { kind, todos, questions } = factsOf(tool)
  if (todos || questions) return undefined
  return kind === 'read' || kind === 'search' || kind === 'fetch' || kind === 'execute' ? kind : undefined
}

/** `Read 10 files`, `Running 2 commands`. */
export function groupLine(
  kind: GroupKind,
  tools: readonly ToolItem[],
): { icon: IconName; verb: string; object: string } {
  const { icon, past = '', present = '' } = WORDS[kind]
  const isRunning = tools.some(({ status }) => status === 'running')
  return {
    icon: kind === 'read' ? 'files' : icon,
    verb: isRunning ? present : past,
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
