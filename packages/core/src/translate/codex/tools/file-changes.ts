import { asArray, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../claude/ui.ts'

export interface FileChange {
  path: string
  kind: string
  /** From app-server only: a unified diff, or the whole content of a file that is added or deleted. */
  diff?: string
  movePath?: string
}

export function readChanges(value: unknown): FileChange[] {
  return asArray(value).flatMap(entry => {
    const change = asObject(entry)
    const path = asText(change?.path)
    if (!change || !path) return []
    const { type, movePath } = readKind(change.kind)
    return [present({ path, kind: type, diff: asText(change.diff), movePath })]
  })
}

/** What both voices know of the changes. */
export function plainChanges(changes: readonly FileChange[]): JsonObject[] {
  return changes.map(({ path, kind }) => ({ path, kind }))
}

export function describeChanges(changes: readonly FileChange[]): string {
  return changes.map(({ path, kind }) => `${kind} ${path}`).join('\n')
}

/** `exec` says `"add"`, app-server `{ type: "update", move_path: … }`. */
function readKind(value: unknown): { type: string; movePath: string | undefined } {
  const kind = asObject(value)
  return {
    type: asText(value) ?? asText(kind?.type) ?? 'change',
    movePath: asText(kind?.move_path) ?? asText(kind?.movePath),
  }
}
