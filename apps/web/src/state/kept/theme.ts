import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'chirality-theme'
const listeners = new Listeners()
let theme = read()

export function useTheme(): Theme {
  return useSyncExternalStore(listeners.subscribe, () => theme)
}

export function setTheme(next: Theme): void {
  theme = next
  try {
    if (next === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, next)
  } catch {
    // Full or forbidden: it is kept for this page only.
  }
  showTheme()
  listeners.tell()
}

/** Told to the page before anything is drawn, and by other tabs when it was chosen there. */
export function startTheme(): void {
  showTheme()
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    theme = read()
    showTheme()
    listeners.tell()
  })
}

function showTheme(): void {
  const { dataset } = document.documentElement
  if (theme === 'system') delete dataset.theme
  else dataset.theme = theme
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    return 'system'
  }
}
