import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'

/** How the person arranged the page. */
export interface Layout {
  sidebar: 'open' | 'rail'
  sidebarWidth: number
  panel: 'open' | 'closed'
  panelWidth: number
}

export const LAYOUT_LIMITS = {
  sidebarWidth: { min: 200, max: 420, normal: 264 },
  panelWidth: { min: 320, max: 1400, normal: 432 },
} as const

const KEY = 'chirality-layout'
const NORMAL: Layout = { sidebar: 'open', sidebarWidth: 264, panel: 'open', panelWidth: 432 }
const listeners = new Listeners()
let layout = parseLayout(read())

export function useLayout(): Layout {
  return useSyncExternalStore(listeners.subscribe, () => layout)
}

export function setLayout(change: Partial<Layout>): void {
  layout = parseLayout(JSON.stringify({ ...layout, ...change }))
  try {
    localStorage.setItem(KEY, JSON.stringify(layout))
  } catch {
    // Full or forbidden: it is kept for this page only.
  }
  listeners.tell()
}

/** Reads a layout; fields that are missing or out of bounds are as in a new browser. */
export function parseLayout(text: string | null): Layout {
  let kept: Record<string, unknown> = {}
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    if (typeof value === 'object' && value !== null) kept = value as Record<string, unknown>
  } catch {
    return NORMAL
  }
  const width = (name: 'sidebarWidth' | 'panelWidth') => {
    const { min, max, normal } = LAYOUT_LIMITS[name]
    const value = kept[name]
    return typeof value === 'number' && Number.isFinite(value)
      ? Math.round(Math.min(max, Math.max(min, value)))
      : normal
  }
  return {
    sidebar: kept.sidebar === 'rail' ? 'rail' : 'open',
    sidebarWidth: width('sidebarWidth'),
    panel: kept.panel === 'closed' ? 'closed' : 'open',
    panelWidth: width('panelWidth'),
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
