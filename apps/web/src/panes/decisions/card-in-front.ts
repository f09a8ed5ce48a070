/** Cards that are drawn, in no order. */
const drawn = new Set<HTMLElement>()
const listeners = new Set<() => void>()
let isLookingAgain = false
let lastFront: HTMLElement | undefined

/** From now on the card can be the one that keys go to. */
export function addCard(card: HTMLElement): () => void {
  if (drawn.size === 0) watchPage()
  drawn.add(card)
  lookAgain()
  return () => {
    drawn.delete(card)
    if (drawn.size === 0) unwatchPage()
    lookAgain()
  }
}

export function subscribeFront(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** As of the last frame. For what is drawn; a key asks anew. */
export function lastCardInFront(): HTMLElement | undefined {
  return lastFront
}

/** The topmost card whose buttons can be seen; undefined when there is none. Drawn is not seen: lists draw more than that. */
export function cardInFront(): HTMLElement | undefined {
  return [...drawn].sort(byPlace).find(isSeen)
}

/** What lies at the place of its first button is the button: nothing hides it, no dialog is over it. */
function isSeen(card: HTMLElement): boolean {
  const button = card.querySelector('.decision__row button')
  if (!button) return false
  const { left, top, width, height } = button.getBoundingClientRect()
  const there = document.elementFromPoint(left + width / 2, top + height / 2)
  return there !== null && button.contains(there)
}

function byPlace(a: HTMLElement, b: HTMLElement): number {
  return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1
}

/** Once a frame, however much moves. */
function lookAgain(): void {
  if (isLookingAgain) return
  isLookingAgain = true
  requestAnimationFrame(() => {
    isLookingAgain = false
    lastFront = cardInFront()
    for (const listener of listeners) listener()
  })
}

const MOVES = ['scroll', 'resize', 'focusin', 'focusout', 'toggle'] as const

function watchPage(): void {
  for (const type of MOVES) window.addEventListener(type, lookAgain, { capture: true, passive: true })
}

function unwatchPage(): void {
  for (const type of MOVES) window.removeEventListener(type, lookAgain, { capture: true })
}
