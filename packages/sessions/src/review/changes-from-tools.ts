import path from 'node:path'
import { type DiffHunk, editsOf, type FileEdit, type ToolStartEvent, type UIEvent } from '@chirality/core'
import type { Changes, FileChange } from '@chirality/workspaces'
import type { SessionLog } from '../log/session-log.ts'

/** The changes of a turn as its tools report them. Undefined if the log has no such turn. */
export function changesFromTools(
  log: Pick<SessionLog, 'readAfter' | 'lastSeq'>,
  turnId: string,
  root: string,
): Changes | undefined {
  const files = new Map<string, FileChange>()
  const patches: string[] = []
  let found = false
  const seen = () => {
    found = true
  }
  for (const edit of editsIn(eventsOf(log, turnId), seen)) {
    const file = within(root, edit.movedTo ?? edit.path)
    const from = edit.movedTo === undefined ? undefined : within(root, edit.path)
    if (file === undefined) continue
    const change = { path: file, from, kind: KINDS[edit.change], hunks: hunksOf(edit) }
    const known = files.get(from ?? file)
    if (from !== undefined) files.delete(from)
    files.set(file, combined(known, change))
    patches.push(patchOf(change))
  }
  return found ? { files: [...files.values()], patch: patches.join(''), truncated: false } : undefined
}

interface ToolChange {
  path: string
  from: string | undefined
  kind: 'added' | 'deleted' | 'changed'
  hunks: DiffHunk[]
}

const KINDS = { add: 'added', delete: 'deleted', update: 'changed' } as const

/** Undefined for a path outside the project. */
function within(root: string, file: string): string | undefined {
  const relative = path.relative(root, path.resolve(root, file)).split(path.sep).join('/')
  return relative === '' || relative === '..' || relative.startsWith('../') ? undefined : relative
}

/** Joins the changes of a file that a turn changed more than once. */
function combined(known: FileChange | undefined, { path: file, from, kind, hunks }: ToolChange): FileChange {
  const lines = hunks.flatMap(hunk => hunk.lines)
  const renamedFrom = known?.renamedFrom ?? (known?.kind === 'added' ? undefined : from)
  const before = known?.kind === 'deleted' ? 'changed' : known?.kind
  return {
    path: file,
    kind: kind === 'deleted' ? kind : renamedFrom === undefined ? (before ?? kind) : 'renamed',
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
    // Turns do not overlap: after its end, the rest of a long log need not be read.
    if (seen && last.turnId !== turnId && last.turnId !== null) return
    seen ||= ours.length > 0
  }
}

/** Edits of calls that succeeded, in the order of their results. */
function* editsIn(events: Iterable<UIEvent>, onEvent: () => void): Generator<FileEdit> {
  const calls = new Map<string, Omit<ToolStartEvent, 'type' | 'sessionId' | 'toolUseId'>>()
  const edited = new Set<string>()
  for (const event of events) {
    onEvent()
    if (event.type === 'tool:start') {
      const { name, input, facts } = event
      calls.set(event.toolUseId, { name, input, ...(facts ? { facts } : {}) })
    } else if (event.type === 'tool:input' && event.input !== undefined) {
      // The agent's own input can come after the answer that replaced it.
      if (edited.has(event.toolUseId)) continue
      const { input, facts } = event
      const name = calls.get(event.toolUseId)?.name ?? ''
      calls.set(event.toolUseId, { name, input, ...(facts ? { facts } : {}) })
    } else if (event.type === 'permission:resolved' && event.updatedInput && event.toolUseId) {
      edited.add(event.toolUseId)
      const { updatedInput: input, facts } = event
      const name = calls.get(event.toolUseId)?.name ?? ''
      calls.set(event.toolUseId, { name, input, ...(facts ? { facts } : {}) })
    } else if (event.type === 'tool:result') {
      const call = calls.get(event.toolUseId) ?? { name: '', input: {} }
      calls.delete(event.toolUseId)
      const { detail, edits } = event
      if (!event.isError) yield* editsOf({ ...call, detail, ...(edits ? { edits } : {}) })
    }
  }
}

/** With line numbers. If they are not known there are no hunks: an invented number would mislead. */
function hunksOf({ change, hunks, text = '' }: FileEdit): DiffHunk[] {
  if (hunks !== undefined || change === 'update') return hunks ?? []
  if (text === '') return []
  const lines = text.replace(/\n$/, '').split('\n')
  const none = { start: 0, lines: 0 }
  const all = { start: 1, lines: lines.length }
  const [sign, before, after] = change === 'add' ? ['+', none, all] : ['-', all, none]
  return [
    {
      oldStart: before.start,
      oldLines: before.lines,
      newStart: after.start,
      newLines: after.lines,
      lines: lines.map(line => `${sign}${line}`),
    },
  ]
}

function patchOf({ path: file, from, kind, hunks }: ToolChange): string {
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
