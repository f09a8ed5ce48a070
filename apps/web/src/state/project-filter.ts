import { useSyncExternalStore } from 'react'

const KEY = 'chirality-project'
const listeners = new Set<() => void>()
let chosen = read()

/** The project whose sessions the sidebar shows; null for all. Kept for the next visit. */
export function useProjectFilter(): string | null {
  return useSyncExternalStore(subscribe, () => chosen)
}

export function setProjectFilter(root: string | null): void {
  chosen = root
  try {
    if (root === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, root)
  } catch {
    // Full or forbidden: it is kept for this page only.
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
