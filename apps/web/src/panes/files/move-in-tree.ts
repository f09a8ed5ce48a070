import type { KeyboardEvent } from 'react'

/** The keys of a tree: up and down between entries, right into a folder, left out of it. */
export function moveInTree(event: KeyboardEvent<HTMLElement>): void {
  const entries = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="treeitem"]')]
  const at = entries.indexOf(event.target as HTMLElement)
  const entry = entries[at]
  if (!entry || event.altKey || event.ctrlKey || event.metaKey) return
  const target = targetOf(event.key, entries, at)
  if (target === undefined) return
  event.preventDefault()
  // The page has keys of its own for some of these.
  event.stopPropagation()
  if (target === 'toggle') entry.click()
  else target?.focus()
}

function targetOf(key: string, entries: readonly HTMLElement[], at: number) {
  const expanded = entries[at]?.ariaExpanded ?? null
  switch (key) {
    case 'ArrowDown':
      return entries[at + 1] ?? null
    case 'ArrowUp':
      return entries[at - 1] ?? null
    case 'Home':
      return entries[0] ?? null
    case 'End':
      return entries.at(-1) ?? null
    case 'ArrowRight':
      if (expanded === null) return null
      return expanded === 'true' ? firstChildOf(entries, at) : 'toggle'
    case 'ArrowLeft':
      return expanded === 'true' ? 'toggle' : parentOf(entries, at)
    default:
      return undefined
  }
}

/** None while what is in the folder is still read: the next entry is then a neighbour. */
function firstChildOf(entries: readonly HTMLElement[], at: number): HTMLElement | null {
  const next = entries[at + 1]
  return next && Number(next.ariaLevel) > Number(entries[at]?.ariaLevel) ? next : null
}

function parentOf(entries: readonly HTMLElement[], at: number): HTMLElement | null {
  const level = Number(entries[at]?.ariaLevel)
  return entries.slice(0, at).findLast(entry => Number(entry.ariaLevel) < level) ?? null
}
