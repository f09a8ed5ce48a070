import { type RefObject, useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { isTyping } from '../../ui/keys/is-typing.ts'
import { Listeners } from '../../ui/listeners.ts'

/** Action of each key; a key that is left out does nothing. */
export interface DecisionKeys {
  allow?: (() => void) | undefined
  always?: (() => void) | undefined
  edit?: (() => void) | undefined
  deny?: (() => void) | undefined
  enabled: boolean
}

/** Keys go to the topmost card that is seen, when there was time to see it. Tells whether they work on this one, so that it can say so. */
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
  const isReady = useSyncExternalStore(
    subscribeFront,
    () => card.current !== null && readyCard() === card.current,
  )
  return isReady && keys.enabled
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

/** Cards that are drawn, in no order. */
const drawn = new Set<HTMLElement>()
const listeners = new Listeners()
let isLookingAgain = false
let lastFront: HTMLElement | undefined
let ready: HTMLElement | undefined
let readyTimer: ReturnType<typeof setTimeout> | undefined

/** Nobody reads faster. A key pressed twice must not answer what came into the place of the first. */
const READ_MS = 300

/** From now on the card can be the one that keys go to. */
function addCard(card: HTMLElement): () => void {
  if (drawn.size === 0) watchPage()
  drawn.add(card)
  lookAgain()
  return () => {
    drawn.delete(card)
    if (drawn.size === 0) unwatchPage()
    lookAgain()
  }
}

/** The keys of a card mean something else from now on: they wait as for a new card. */
export function readAgain(): void {
  lastFront = undefined
  ready = undefined
  lookAgain()
  tell()
}

export const subscribeFront = listeners.subscribe

/** The card in front, when it is there long enough to have been seen. */
function readyCard(): HTMLElement | undefined {
  return ready
}

/** Whether a key is for this card: it is in front now, and was when the person decided. */
function takesKeys(card: HTMLElement | null): boolean {
  if (card === null || cardInFront() !== card) return false
  if (ready === card) return true
  lookAgain()
  return false
}

/** The topmost card whose buttons can be seen; undefined when there is none. Drawn is not seen: lists draw more than that. */
function cardInFront(): HTMLElement | undefined {
  return [...drawn].sort(byPlace).find(isSeen)
}

/** Whether the first button of a card is in view: nothing hides it, no dialog is over it. */
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
    const front = cardInFront()
    if (front !== lastFront) {
      lastFront = front
      ready = undefined
      clearTimeout(readyTimer)
      if (front) readyTimer = setTimeout(makeReady, READ_MS)
    }
    tell()
  })
}

function makeReady(): void {
  ready = lastFront
  tell()
}

function tell(): void {
  listeners.tell()
}

const MOVES = ['scroll', 'resize', 'focusin', 'focusout', 'toggle'] as const

function watchPage(): void {
  for (const type of MOVES) window.addEventListener(type, lookAgain, { capture: true, passive: true })
}

function unwatchPage(): void {
  for (const type of MOVES) window.removeEventListener(type, lookAgain, { capture: true })
}
