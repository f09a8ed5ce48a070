import { createContext, use } from 'react'

export type ShellDialog =
  | { kind: 'palette' }
  | { kind: 'shortcuts' }
  | { kind: 'notifications' }
  | { kind: 'browsers' }
  | { kind: 'new-session'; project?: string }
  | { kind: 'tray' }
  | { kind: 'limits'; sessionId: string }
  | { kind: 'processes'; sessionId: string }
  | { kind: 'sidebar' }
  | { kind: 'panel' }
  | { kind: 'contents' }

export interface ShellControls {
  dialog: ShellDialog | null
  open(dialog: ShellDialog): void
  close(): void
}

export const ShellContext = createContext<ShellControls | null>(null)

export function useShell(): ShellControls {
  const shell = use(ShellContext)
  if (!shell) throw new Error('useShell is only for what is inside the shell')
  return shell
}
