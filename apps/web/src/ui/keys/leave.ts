import type { KeyboardEvent } from 'react'

/** Escape out of a form: only out of that. Unless it is told, the browser closes the dialog around it, too. */
export function leave(event: KeyboardEvent, onLeave: () => void): void {
  if (event.nativeEvent.isComposing) return
  event.preventDefault()
  onLeave()
}
