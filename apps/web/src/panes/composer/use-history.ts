import { type KeyboardEvent, useRef } from 'react'
import { useSessionStore } from '../../state/session/use-session.ts'

/** Arrow up in an empty field brings back what was sent before, as in a shell. */
export function useHistory(text: string, setText: (text: string) => void) {
  const store = useSessionStore()
  const place = useRef<number | null>(null)
  const messages = () => store.get().state.items.flatMap(item => (item.kind === 'user' ? [item.text] : []))
  return {
    reset: () => {
      place.current = null
    },
    onKey: (event: KeyboardEvent): boolean => {
      if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') {
        place.current = null
        return false
      }
      const all = messages()
      const browsing = place.current !== null
      if (!browsing && (event.key === 'ArrowDown' || text !== '')) return false
      const next = (place.current ?? all.length) + (event.key === 'ArrowUp' ? -1 : 1)
      if (next < 0) return true
      event.preventDefault()
      place.current = next < all.length ? next : null
      setText(all[next] ?? '')
      return true
    },
  }
}
