import { readDraft, saveDraft } from '../../state/kept/drafts.ts'
import { takeKeys } from '../../ui/keys/type-ahead.ts'

/** On a phone the keyboard would cover what the page says. */
export function isAtDesk(): boolean {
  return !window.matchMedia('(pointer: coarse)').matches
}

/** The field that a page is for has the focus as soon as it is there, with what was typed until then. */
export function takeFocus(field: HTMLTextAreaElement | null, draft: string, isWanted = true): void {
  const typed = takeKeys()
  if (typed !== '') saveDraft(draft, readDraft(draft) + typed)
  if (field === null || document.querySelector('dialog[open]') !== null) return
  if (typed === '' && !(isWanted && isAtDesk())) return
  field.focus({ preventScroll: true })
  // When it is drawn. The caret of a field that was never used is before what is written there.
  queueMicrotask(() => field.setSelectionRange(field.value.length, field.value.length))
}
