import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import type { Changes, FileChange } from './diff-trees.ts'

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
    const edit = event.type === 'tool:result' && !event.isError ? editOf(event.detail) : undefined
    const file = edit === undefined ? '..' : path.relative(root, edit.filePath).split(path.sep).join('/')
    if (edit === undefined || file.startsWith('..')) continue
    const lines = edit.hunks.flatMap(hunk => hunk.lines)
    const known = files.get(file)
    files.set(file, {
      path: file,
      kind: known?.kind ?? (edit.created ? 'added' : 'changed'),
      added: (known?.added ?? 0) + lines.filter(line => line.startsWith('+')).length,
      removed: (known?.removed ?? 0) + lines.filter(line => line.startsWith('-')).length,
    })
    patches.push(patchOf(file, edit))
  }
  return found ? { files: [...files.values()], patch: patches.join(''), truncated: false } : undefined
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
  created: boolean
  hunks: Hunk[]
}

/** The shape in which Claude Code tells of its edits. */
function editOf(detail: unknown): Edit | undefined {
  if (typeof detail !== 'object' || detail === null) return undefined
  const { filePath, structuredPatch, type, content } = detail as Record<string, unknown>
  if (typeof filePath !== 'string' || !Array.isArray(structuredPatch)) return undefined
  const hunks = structuredPatch.filter(isHunk)
  if (type === 'create' && typeof content === 'string') {
    const lines = content.replace(/\n$/, '').split('\n')
    const whole = { oldStart: 0, oldLines: 0, newStart: 1, newLines: lines.length }
    return { filePath, created: true, hunks: [{ ...whole, lines: lines.map(line => `+${line}`) }] }
  }
  return { filePath, created: false, hunks }
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

function patchOf(file: string, { created, hunks }: Edit): string {
  const head = [
    `diff --git a/${file} b/${file}`,
    ...(created ? ['new file mode 100644', '--- /dev/null'] : [`--- a/${file}`]),
    `+++ b/${file}`,
  ]
  const body = hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ])
  return `${[...head, ...body].join('\n')}\n`
}
