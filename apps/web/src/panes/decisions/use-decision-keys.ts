import { type RefObject, useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { addCard, readyCard, subscribeFront, takesKeys } from './card-in-front.ts'

/** What each key does; one that is left out does nothing. */
export interface DecisionKeys {
  allow?: (() => void) | undefined
  always?: (() => void) | undefined
  edit?: (() => void) | undefined
  deny?: (() => void) | undefined
  enabled: boolean
}

/** Keys go to the topmost card that is seen, when there was time to see it. Tells whether this is the one, so that it can say so. */
export function useDecisionKeys(card: RefObject<HTMLElement | null>, keys: DecisionKeys): boolean {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!keys.enabled || event.repeat || isTyping(event.target)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = actionOf(event, keys)
    if (!action || !takesKeys(card.current)) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const remove = card.current ? addCard(card.current) : undefined
    const listener = (event: KeyboardEvent) => onKey(event)
    window.addEventListener('keydown', listener)
    return () => {
      window.removeEventListener('keydown', listener)
      remove?.()
    }
  }, [card])
  return useSyncExternalStore(subscribeFront, () => card.current !== null && readyCard() === card.current)
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
