export type PanelTab = 'activity' | 'changes' | 'files' | 'raw' | 'persona'

export const PANEL_TABS: readonly { id: PanelTab; label: string }[] = [
  { id: 'activity', label: 'Activity' },
  { id: 'changes', label: 'Changes' },
  { id: 'files', label: 'Files' },
  { id: 'raw', label: 'Raw' },
  { id: 'persona', label: 'Persona' },
]
