import { useSyncExternalStore } from 'react'
import { Listeners } from '../../ui/listeners.ts'

const KEY = 'chirality-project'
const listeners = new Listeners()
let chosen = read()

/** The project whose sessions the sidebar shows; null for all. Kept for the next visit. */
export function useProjectFilter(): string | null {
  return useSyncExternalStore(listeners.subscribe, () => chosen)
}

export function setProjectFilter(root: string | null): void {
  chosen = root
  try {
    if (root === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, root)
  } catch {
    // Full or forbidden: it is kept for this page only.
  }
  listeners.tell()
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
