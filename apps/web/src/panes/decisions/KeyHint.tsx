import { useSyncExternalStore } from 'react'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Kbd } from '../../ui/marks/Kbd.tsx'
import { subscribeFront } from './card-in-front.ts'

/** Which keys answer the card. Where a field has the focus they would be typed into it. */
export function KeyHint({ shown, keys }: { shown: boolean; keys: string }) {
  const typing = useSyncExternalStore(subscribeFront, () => isTyping(document.activeElement))
  if (!shown) return null
  return <Kbd>{typing ? `Esc, then ${keys}` : keys}</Kbd>
}
