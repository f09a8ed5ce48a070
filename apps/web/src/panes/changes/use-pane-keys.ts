import { useEffect, useEffectEvent } from 'react'
import { useShell } from '../../app/shell/shell-context.ts'
import { isTyping } from '../../ui/keys/is-typing.ts'

/** Keys of a pane that is in view, by what `KeyboardEvent.key` says; one that is left out or undefined does nothing. */
export function usePaneKeys(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  const { dialog } = useShell()
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
      return
    // The pane may be a dialog itself; one that lies over it has its own keys.
    const own = dialog?.kind === 'panel' ? 1 : 0
    if (document.querySelectorAll('dialog[open]').length > own) return
    const action = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined
    if (!action) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => window.removeEventListener('keydown', listener)
  }, [])
}
