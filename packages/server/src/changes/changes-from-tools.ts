import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import type { Changes, FileChange } from '../contract/file-answers.ts'

/** What the tools of a turn say they changed. Undefined when the log has no such turn. */
export function changesFromTools(
  log: Pick<SessionLog, 'readAfter' | 'lastSeq'>,
  turnId: string,
  root: string,
): Changes | undefined {
  const files = new Map<string, FileChange>()
  const patches: string[] = []
  let found = false
  for (const event of eventsOf(log, turnId)) {
    found = true
    for (const edit of event.type === 'tool:result' && !event.isError ? editsOf(event.detail) : []) {
      const file = within(root, edit.filePath)
      const from = edit.movedFrom === undefined ? undefined : within(root, edit.movedFrom)
      if (file === undefined) continue
      const known = files.get(from ?? file)
      if (from !== undefined) files.delete(from)
      files.set(file, combined(known, { path: file, from, edit }))
      patches.push(patchOf(file, from, edit))
    }
  }
  return found ? { files: [...files.values()], patch: patches.join(''), truncated: false } : undefined
}

/** Undefined for what is not in the project. */
function within(root: string, file: string): string | undefined {
  const relative = path.relative(root, path.resolve(root, file)).split(path.sep).join('/')
  return relative === '' || relative === '..' || relative.startsWith('../') ? undefined : relative
}

/** Of a file that a turn changed more than once. */
function combined(
  known: FileChange | undefined,
  { path: file, from, edit }: { path: string; from: string | undefined; edit: Edit },
): FileChange {
  const lines = edit.hunks.flatMap(hunk => hunk.lines)
  const renamedFrom = known?.renamedFrom ?? (known?.kind === 'added' ? undefined : from)
  const before = known?.kind === 'deleted' ? 'changed' : known?.kind
  return {
    path: file,
    kind: edit.kind === 'deleted' ? 'deleted' : renamedFrom === undefined ? (before ?? edit.kind) : 'renamed',
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
    added: (known?.added ?? 0) + lines.filter(line => line.startsWith('+')).length,
    removed: (known?.removed ?? 0) + lines.filter(line => line.startsWith('-')).length,
  }
}

const PAGE = 2000

function* eventsOf(log: Pick<SessionLog, 'readAfter' | 'lastSeq'>, turnId: string): Generator<UIEvent> {
  let after = 0
  let seen = false
  while (after < log.lastSeq) {
    const page = log.readAfter(after, PAGE)
    const last = page.at(-1)
    if (last === undefined) return
    after = last.seq
    const ours = page.filter(envelope => envelope.turnId === turnId)
    for (const { event } of ours) yield event
    // Turns do not overlap: once it is past, the rest of a long log need not be read.
    if (seen && last.turnId !== turnId && last.turnId !== null) return
    seen ||= ours.length > 0
  }
}

interface Hunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  lines: string[]
}

interface Edit {
  filePath: string
  kind: 'added' | 'deleted' | 'changed'
  movedFrom?: string
  hunks: Hunk[]
}

/** A tool tells of one file with its hunks, or of several changes with a diff each. */
function editsOf(detail: unknown): Edit[] {
  const { changes, ...one } = asRecord(detail)
  return Array.isArray(changes) ? changes.flatMap(change => editOfChange(asRecord(change))) : editOfFile(one)
}

function editOfFile({ filePath, structuredPatch, type, content }: Record<string, unknown>): Edit[] {
  if (typeof filePath !== 'string' || !Array.isArray(structuredPatch)) return []
  if (type === 'create' && typeof content === 'string')
    return [{ filePath, kind: 'added', hunks: wholeFile(content, '+') }]
  return [{ filePath, kind: 'changed', hunks: structuredPatch.filter(isHunk) }]
}

/** The diff of a file that is added or deleted is its content. */
function editOfChange({ path: file, kind, diff, movePath }: Record<string, unknown>): Edit[] {
  if (typeof file !== 'string' || file === '') return []
  const text = typeof diff === 'string' ? diff : ''
  if (kind === 'add') return [{ filePath: file, kind: 'added', hunks: wholeFile(text, '+') }]
  if (kind === 'delete') return [{ filePath: file, kind: 'deleted', hunks: wholeFile(text, '-') }]
  const hunks = hunksIn(text)
  return typeof movePath === 'string' && movePath !== ''
    ? [{ filePath: movePath, kind: 'changed', movedFrom: file, hunks }]
    : [{ filePath: file, kind: 'changed', hunks }]
}

function wholeFile(content: string, sign: '+' | '-'): Hunk[] {
  if (content === '') return []
  const lines = content.replace(/\n$/, '').split('\n')
  const [none, all] = [
    { start: 0, lines: 0 },
    { start: 1, lines: lines.length },
  ]
  const [before, after] = sign === '+' ? [none, all] : [all, none]
  return [
    {
      ...{ oldStart: before.start, oldLines: before.lines, newStart: after.start, newLines: after.lines },
      lines: lines.map(line => sign + line),
    },
  ]
}

function hunksIn(diff: string): Hunk[] {
  const hunks: Hunk[] = []
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const [head, oldStart, oldLines = '1', newStart, newLines = '1'] = HUNK_HEAD.exec(line) ?? []
    if (head !== undefined) {
      const [before, after] = [Number(oldStart), Number(newStart)]
      const sizes = { oldLines: Number(oldLines), newLines: Number(newLines) }
      hunks.push({ oldStart: before, newStart: after, ...sizes, lines: [] })
    } else if (/^[-+ \\]/.test(line)) hunks.at(-1)?.lines.push(line)
  }
  return hunks
}

const HUNK_HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function isHunk(value: unknown): value is Hunk {
  if (typeof value !== 'object' || value === null) return false
  const { oldStart, oldLines, newStart, newLines, lines } = value as Record<string, unknown>
  const numbers = [oldStart, oldLines, newStart, newLines]
  return (
    numbers.every(Number.isSafeInteger) &&
    Array.isArray(lines) &&
    lines.every(line => typeof line === 'string')
  )
}

function patchOf(file: string, from: string | undefined, { kind, hunks }: Edit): string {
  const before = from ?? file
  const head = [
    `diff --git a/${before} b/${file}`,
    ...(from === undefined ? [] : [`rename from ${from}`, `rename to ${file}`]),
    ...(kind === 'added' ? ['new file mode 100644', '--- /dev/null'] : []),
    ...(kind === 'deleted' ? ['deleted file mode 100644'] : []),
    ...(kind === 'added' ? [] : [`--- a/${before}`]),
    kind === 'deleted' ? '+++ /dev/null' : `+++ b/${file}`,
  ]
  const body = hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ])
  return `${[...head, ...body].join('\n')}\n`
}
