import { createContext, type RefObject, use, useEffect } from 'react'
import type { ItemNode } from '../chat/rows.logic.ts'
import './find.css'

/** One occurrence of a text that is looked for. */
export interface Found {
  readonly row: number
  readonly seq: number
  /** Which one it is in its item, from 0. */
  readonly nth: number
  /** It is not in the line of the item, but in what is seen when that is open. */
  readonly isInBody: boolean
}

/** The occurrence that a search is at. */
export const FoundContext = createContext<Found | null>(null)

/** Opens something folded when a search leads into it. True while it does: then all of it is drawn. */
export function useOpenWhenFound(
  of: { seq: number | null; inside: readonly ItemNode[] },
  open: () => void,
): boolean {
  const found = use(FoundContext)
  const isIn = found !== null && ((found.seq === of.seq && found.isInBody) || holdsSeq(of.inside, found.seq))
  useEffect(() => {
    if (isIn) open()
  }, [isIn, found])
  return isIn
}

function holdsSeq(nodes: readonly ItemNode[], seq: number): boolean {
  return nodes.some(({ item, children }) => item.seq === seq || holdsSeq(children, seq))
}

export interface FindFieldProps {
  field: RefObject<HTMLInputElement | null>
  text: string
  onText(text: string): void
  onStep?: (by: 1 | -1) => void
}

/** Where the text is typed that is looked for. It is there before the code that looks for it is: no key gets lost. */
export function FindField({ field, text, onText, onStep }: FindFieldProps) {
  return (
    <input
      ref={field}
      className="find__field"
      type="text"
      aria-label="Find in conversation"
      placeholder="Find in conversation"
      enterKeyHint="search"
      autoComplete="off"
      spellCheck={false}
      value={text}
      onChange={event => onText(event.target.value)}
      onKeyDown={event => {
        if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
        event.preventDefault()
        onStep?.(event.shiftKey ? -1 : 1)
      }}
      // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
      autoFocus
    />
  )
}
