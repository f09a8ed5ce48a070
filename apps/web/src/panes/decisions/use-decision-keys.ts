import { type RefObject, useEffect, useEffectEvent } from 'react'
import { isTyping } from '../../ui/is-typing.ts'

export interface DecisionKeys {
  allow(): void
  always(): void
  edit(): void
  deny(): void
  enabled: boolean
}

/** Cards on the page, in the order in which they appeared. */
const shown: RefObject<HTMLElement | null>[] = []

/** Keys go to the oldest card that is drawn; where a dialog is open, to the oldest one inside it. */
export function useDecisionKeys(card: RefObject<HTMLElement | null>, keys: DecisionKeys): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!keys.enabled || reachable()[0] !== card || isTyping(event.target)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = actionOf(event, keys)
    if (!action) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    shown.push(card)
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => {
      window.removeEventListener('keydown', listener)
      shown.splice(shown.indexOf(card), 1)
    }
  }, [card])
}

function reachable(): RefObject<HTMLElement | null>[] {
  const dialog = document.querySelector('dialog[open]')
  return dialog ? shown.filter(card => dialog.contains(card.current)) : shown
}

function actionOf({ key, shiftKey }: KeyboardEvent, keys: DecisionKeys): (() => void) | undefined {
  switch (key.toLowerCase()) {
    case 'a':
      return shiftKey ? keys.always : keys.allow
    case 'e':
      return shiftKey ? undefined : keys.edit
    case 'd':
      return shiftKey ? undefined : keys.deny
    default:
      return undefined
  }
}
