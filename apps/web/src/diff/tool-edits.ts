import type { ToolItem } from '@chirality/core'
import {
  type DiffHunk,
  diffTexts,
  type FileDiff,
  fileDiff,
  parseUnifiedDiff,
  wholeFile,
} from './file-diff.ts'

const cache = new WeakMap<ToolItem, readonly FileDiff[]>()

/** What a call changes in files, by its result or, before that, by its input. Empty for a call that edits nothing. */
export function toolEdits(tool: ToolItem): readonly FileDiff[] {
  const known = cache.get(tool)
  if (known) return known
  const edits = fromDetail(tool) ?? inputEdits(tool.name, tool.input) ?? []
  cache.set(tool, edits)
  return edits
}

/** What a call would change, as far as its input tells. Also for requests that wait for a decision. */
export function inputEdits(toolName: string, input: Record<string, unknown>): FileDiff[] | undefined {
  const path = text(input.file_path) ?? text(input.path)
  if (Array.isArray(input.changes)) return codexChanges(input.changes)
  if (path === undefined) return undefined
  const [before, after] = [text(input.old_string), text(input.new_string)]
  if (before !== undefined && after !== undefined) return [diffTexts(path, before, after)]
  if (Array.isArray(input.edits)) return [mergeEdits(path, input.edits)]
  const content = text(input.content)
  if (content !== undefined && WRITES.test(toolName)) return [wholeFile(path, 'add', content)]
  return undefined
}

const WRITES = /write|create/i

function fromDetail({ detail, input }: ToolItem): FileDiff[] | undefined {
  if (!isObject(detail)) return undefined
  if (Array.isArray(detail.changes)) return codexChanges(detail.changes)
  const path = text(detail.filePath) ?? text(input.file_path) ?? text(input.path)
  if (path === undefined) return undefined
  const hunks = Array.isArray(detail.structuredPatch) ? detail.structuredPatch.filter(isHunk) : []
  if (hunks.length > 0) return [fileDiff(path, 'update', hunks)]
  const patch = text(detail.patch) ?? text(detail.diff)
  if (patch !== undefined) return parseUnifiedDiff(patch)
  const content = text(detail.content)
  if (detail.type === 'create' && content !== undefined) return [wholeFile(path, 'add', content)]
  return undefined
}

function codexChanges(changes: unknown[]): FileDiff[] {
  return changes.flatMap(change => {
    if (!isObject(change)) return []
    const path = text(change.path)
    const diff = text(change.diff)
    if (path === undefined || diff === undefined) return []
    if (change.kind === 'add' || change.kind === 'delete') return [wholeFile(path, change.kind, diff)]
    const [parsed] = parseUnifiedDiff(`--- a/${path}\n+++ b/${path}\n${diff}`)
    return [fileDiff(path, 'update', parsed?.hunks ?? [])]
  })
}

function mergeEdits(path: string, edits: unknown[]): FileDiff {
  const diffs = edits.flatMap(edit => {
    if (!isObject(edit)) return []
    const [before, after] = [text(edit.old_string), text(edit.new_string)]
    return before !== undefined && after !== undefined ? [diffTexts(path, before, after)] : []
  })
  return fileDiff(
    path,
    'update',
    diffs.flatMap(({ hunks }) => hunks),
  )
}

function isHunk(value: unknown): value is DiffHunk {
  return (
    isObject(value) &&
    typeof value.oldStart === 'number' &&
    typeof value.newStart === 'number' &&
    Array.isArray(value.lines) &&
    value.lines.every(line => typeof line === 'string')
  )
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
