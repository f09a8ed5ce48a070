import { useEffect, useEffectEvent } from 'react'
import { isTyping } from '../../ui/is-typing.ts'

export interface DecisionKeys {
  allow(): void
  always(): void
  edit(): void
  deny(): void
  enabled: boolean
}

/** Cards on the page, in the order in which they appeared: keys go to the oldest one, and only while it is shown. */
const shown: string[] = []

export function useDecisionKeys(requestId: string, keys: DecisionKeys): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!keys.enabled || shown[0] !== requestId || isTyping(event.target)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = actionOf(event, keys)
    if (!action) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    shown.push(requestId)
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => {
      window.removeEventListener('keydown', listener)
      shown.splice(shown.indexOf(requestId), 1)
    }
  }, [requestId])
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
