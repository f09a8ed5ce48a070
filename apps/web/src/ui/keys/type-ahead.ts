import { Listeners } from '../listeners.ts'
import { isTyping } from './is-typing.ts'

// Letters that are typed while the field that they are meant for is still on its way. Without this they would be lost, or act
// as shortcuts of a page that nobody has seen yet.

let held: { text: string; from: Element | null } | null = null

/** From now on letters wait for the field that comes next. A field that a person chose meanwhile keeps its own. */
export function holdKeys(): void {
  if (held !== null) return
  held = { text: '', from: document.activeElement }
  window.addEventListener('keydown', onKey, { capture: true })
  window.addEventListener('pointerdown', dropKeys, { capture: true })
}

const fields = new Listeners()

/**
 * For a page that is gone to. One that was not left yet, because the next has not come, has its field still, which would
 * take nothing by itself.
 */
export function holdKeysForPage(isNew: boolean): void {
  if (isNew) holdKeys()
  fields.tell()
}

/** The field that a page is for, as long as it is there: called when somebody goes to its page. */
export const onGoneTo = fields.subscribe

/** The field is there: what was typed so far, and letters are its own from now on. */
export function takeKeys(): string {
  const text = held?.text ?? ''
  dropKeys()
  return text
}

/** There is no such field, or the person does something else. */
export function dropKeys(): void {
  held = null
  window.removeEventListener('keydown', onKey, { capture: true })
  window.removeEventListener('pointerdown', dropKeys, { capture: true })
}

function onKey(event: KeyboardEvent): void {
  const { key, target, ctrlKey, metaKey, altKey, isComposing } = event
  // Where AltGr writes a letter, Windows says that Ctrl and Alt are held.
  const isShortcut = (ctrlKey || metaKey || altKey) && !event.getModifierState('AltGraph')
  if (held === null || isShortcut || isComposing) return
  if (isTyping(target) && target !== held.from) return
  if (key === 'Escape' || key === 'Tab') return dropKeys()
  if (key === 'Backspace') held.text = [...held.text].slice(0, -1).join('')
  else if ([...key].length === 1) held.text += key
  // Enter would press what has the focus, once more.
  else if (key !== 'Enter') return
  event.preventDefault()
  event.stopImmediatePropagation()
}
