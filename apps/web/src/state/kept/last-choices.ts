import { BoundedMap } from './bounded-map.ts'

/** Choices of the last start, offered again. */
export interface LastChoices {
  harness?: string
  model?: string
  permissionMode?: string
  /** Only if it was chosen: otherwise it depends on who works in the folder. */
  workspace?: Workspace
}

/** Where an agent works: in the project's folder, or in a worktree of its own. */
export type Workspace = 'folder' | 'worktree'

const MAX_PROJECTS = 100
const chosen = new BoundedMap<unknown>('chirality-last-choices', MAX_PROJECTS)
/** No folder has this path. */
const LAST_PROJECT = ''

export function lastChoices(project: string): LastChoices {
  const kept = chosen.get(project)
  if (typeof kept !== 'object' || kept === null) return {}
  const { harness, model, permissionMode, workspace } = kept as Record<string, unknown>
  return {
    ...(typeof harness === 'string' ? { harness } : {}),
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof permissionMode === 'string' ? { permissionMode } : {}),
    ...(workspace === 'folder' || workspace === 'worktree' ? { workspace } : {}),
  }
}

export function lastProject(): string | undefined {
  const kept = chosen.get(LAST_PROJECT)
  return typeof kept === 'string' ? kept : undefined
}

export function keepChoices(project: string, choices: LastChoices): void {
  chosen.set(project, choices)
  chosen.set(LAST_PROJECT, project)
}
