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
  const edits = replacements(input)
  if (edits) {
    const hunks = edits.flatMap(({ before, after }) => diffTexts(path, before, after).hunks)
    return [{ ...fileDiff(path, 'update', hunks), unplaced: true }]
  }
  const content = text(input.content)
  if (content !== undefined && WRITES.test(toolName)) return [wholeFile(path, 'add', content)]
  return undefined
}

const WRITES = /write|create/i

/**
 * The same, held against the file as it is: with its real line numbers, the lines around, and what a file that is written
 * anew loses. Undefined where the call does not fit the file.
 */
export function placedEdit(
  toolName: string,
  input: Record<string, unknown>,
  file: string,
): FileDiff | undefined {
  const path = text(input.file_path) ?? text(input.path)
  if (path === undefined) return undefined
  const edits = replacements(input)
  if (!edits) {
    const content = text(input.content)
    return content !== undefined && WRITES.test(toolName) ? diffTexts(path, file, content) : undefined
  }
  let after = file
  for (const edit of edits) {
    const at = edit.before === '' ? -1 : after.indexOf(edit.before)
    if (at < 0) return undefined
    after = edit.all
      ? after.split(edit.before).join(edit.after)
      : after.slice(0, at) + edit.after + after.slice(at + edit.before.length)
  }
  return diffTexts(path, file, after)
}

/** The files that a call edits, without the work of comparing anything. */
export function editedPaths({ name, input, detail }: ToolItem): string[] {
  const changes = isObject(detail) && Array.isArray(detail.changes) ? detail.changes : input.changes
  if (Array.isArray(changes))
    return changes.flatMap(change => (isObject(change) ? (text(change.path) ?? []) : []))
  const path =
    (isObject(detail) ? text(detail.filePath) : undefined) ?? text(input.file_path) ?? text(input.path)
  const edits = replacements(input) !== undefined || (text(input.content) !== undefined && WRITES.test(name))
  return path !== undefined && edits ? [path] : []
}

interface Replacement {
  before: string
  after: string
  all: boolean
}

function replacements(input: Record<string, unknown>): Replacement[] | undefined {
  const one = replacement(input)
  if (one) return [one]
  return Array.isArray(input.edits) ? input.edits.flatMap(edit => replacement(edit) ?? []) : undefined
}

function replacement(edit: unknown): Replacement | undefined {
  if (!isObject(edit)) return undefined
  const [before, after] = [text(edit.old_string), text(edit.new_string)]
  return before === undefined || after === undefined
    ? undefined
    : { before, after, all: edit.replace_all === true }
}

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
