import { type RefObject, useEffect, useEffectEvent, useRef } from 'react'
import type { ShellDialog } from './shell-context.ts'

/** Dialogs whose code is loaded when they first open. */
const LATE: ReadonlySet<ShellDialog['kind']> = new Set([
  'palette',
  'shortcuts',
  'notifications',
  'tray',
  'contents',
  'new-session',
])

/**
 * From the moment that a dialog is asked for, keys are its own, also while its code is still on the way: letters that are
 * meant for the palette would else answer a decision. What was typed is kept for it, and Escape takes the wish back.
 */
export function useEarlyKeys(dialog: ShellDialog | null, close: () => void): RefObject<string> {
  const typed = useRef('')
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (dialog === null || !LATE.has(dialog.kind) || document.querySelector('dialog[open]')) return
    event.preventDefault()
    event.stopImmediatePropagation()
    if (event.key === 'Escape') close()
    else if (event.key === 'Backspace') typed.current = typed.current.slice(0, -1)
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey)
      typed.current += event.key
  })
  useEffect(() => {
    if (dialog === null) typed.current = ''
  }, [dialog])
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener, { capture: true })
    return () => window.removeEventListener('keydown', listener, { capture: true })
  }, [])
  return typed
}
