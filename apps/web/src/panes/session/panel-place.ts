import { useSyncExternalStore } from 'react'

/** Where there is no room for a third column the panes are a sheet. The style sheets have the same number. */
const NO_COLUMN = '(max-width: 1100px)'

export function isPanelSheet(): boolean {
  return window.matchMedia(NO_COLUMN).matches
}

export function useIsPanelSheet(): boolean {
  return useSyncExternalStore(subscribe, isPanelSheet)
}

function subscribe(listener: () => void): () => void {
  const query = window.matchMedia(NO_COLUMN)
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

export type PanelTab = 'activity' | 'changes' | 'files' | 'raw' | 'persona'

export const PANEL_TABS: readonly { id: PanelTab; label: string }[] = [
  { id: 'activity', label: 'Activity' },
  { id: 'changes', label: 'Changes' },
  { id: 'files', label: 'Files' },
  { id: 'raw', label: 'Raw' },
  { id: 'persona', label: 'Persona' },
]
