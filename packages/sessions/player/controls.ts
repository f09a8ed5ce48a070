import type { SessionItem } from '@chirality/core'
import { element } from './dom.ts'

export interface ControlActions {
  toggle(): void
  seek(count: number): void
  setSpeed(speed: number): void
  filter(text: string, hiddenKinds: ReadonlySet<SessionItem['kind']>): void
}

export interface Progress {
  playing: boolean
  count: number
  time: string
}

/** The bar below the conversation: play, where we are, how fast, and what of it to show. */
export class Controls {
  readonly root: HTMLElement
  readonly #total: number
  readonly #play = element('button', 'play', 'Play')
  readonly #place = element('input', 'place')
  readonly #label = element('span', 'label')
  readonly #speed = element('select', '')
  readonly #search = element('input', 'search')
  readonly #hidden = new Set<SessionItem['kind']>()
  readonly #actions: ControlActions

  constructor(total: number, actions: ControlActions) {
    this.#total = total
    this.#actions = actions
    this.#play.type = 'button'
    this.#play.addEventListener('click', () => actions.toggle())
    Object.assign(this.#place, { type: 'range', min: '0', max: String(total), step: '1' })
    this.#place.setAttribute('aria-label', 'Event')
    this.#place.addEventListener('input', () => actions.seek(Number(this.#place.value)))
    for (const speed of SPEEDS) this.#speed.append(new Option(`${speed}×`, String(speed)))
    this.#speed.setAttribute('aria-label', 'Speed')
    this.#speed.addEventListener('change', () => actions.setSpeed(Number(this.#speed.value)))
    Object.assign(this.#search, { type: 'search', placeholder: 'Filter' })
    this.#search.setAttribute('aria-label', 'Filter')
    this.#search.addEventListener('input', () => this.#filter())
    const kinds = KINDS.map(([label, ...hides]) => this.#kind(label, hides))
    this.root = element(
      'footer',
      '',
      element('div', 'row', this.#play, this.#place, this.#label, this.#speed),
      element('div', 'row small', ...kinds, this.#search, element('span', 'keys', KEYS)),
    )
  }

  show({ playing, count, time }: Progress): void {
    this.#play.textContent = playing ? 'Pause' : 'Play'
    this.#place.value = String(count)
    this.#label.textContent = `${count} / ${this.#total}${time === '' ? '' : ` · ${time}`}`
  }

  changeSpeed(by: 1 | -1): void {
    const index = Math.max(0, Math.min(SPEEDS.length - 1, this.#speed.selectedIndex + by))
    this.#speed.selectedIndex = index
    this.#actions.setSpeed(SPEEDS[index] ?? 1)
  }

  focusFilter(): void {
    this.#search.focus()
  }

  clearFilter(): void {
    this.#search.value = ''
    this.#search.blur()
    this.#filter()
  }

  #kind(label: string, hides: readonly SessionItem['kind'][]): HTMLElement {
    const box = element('input', '')
    Object.assign(box, { type: 'checkbox', checked: true })
    box.addEventListener('change', () => {
      for (const kind of hides) {
        if (box.checked) this.#hidden.delete(kind)
        else this.#hidden.add(kind)
      }
      this.#filter()
    })
    return element('label', '', box, label)
  }

  #filter(): void {
    this.#actions.filter(this.#search.value, new Set(this.#hidden))
  }
}

const SPEEDS = [1, 2, 5, 10, 20, 50, 100]
const KINDS = [
  ['Messages', 'user', 'text'],
  ['Thinking', 'thinking'],
  ['Tools', 'tool'],
  ['Notices', 'notice', 'gap', 'error'],
] as const
const KEYS = 'Space plays · ← → step · Shift ← → turns · + − speed · / filters'

interface KeyActions {
  toggle(): void
  step(by: number): void
  stepTurn(by: 1 | -1): void
  seek(count: number): void
  changeSpeed(by: 1 | -1): void
  focusFilter(): void
  clearFilter(): void
}

/** Keys for the whole page, unless one is meant for the field that has the focus. */
export function listenForKeys(actions: KeyActions): void {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return actions.clearFilter()
    const { target } = event
    if (target instanceof HTMLInputElement && target.type === 'search') return
    const act = ACTIONS[event.key]
    // A button or a menu does its own with the space bar.
    if (act === undefined || (event.key === ' ' && !isPage(target))) return
    event.preventDefault()
    act(actions, event.shiftKey)
  })
}

function isPage(target: EventTarget | null): boolean {
  return !(target instanceof Element) || target.closest('button, select, input, summary') === null
}

const ACTIONS: Record<string, (actions: KeyActions, shift: boolean) => void> = {
  ' ': actions => actions.toggle(),
  k: actions => actions.toggle(),
  ArrowLeft: (actions, shift) => (shift ? actions.stepTurn(-1) : actions.step(-1)),
  ArrowRight: (actions, shift) => (shift ? actions.stepTurn(1) : actions.step(1)),
  Home: actions => actions.seek(0),
  End: actions => actions.seek(Number.POSITIVE_INFINITY),
  '+': actions => actions.changeSpeed(1),
  '=': actions => actions.changeSpeed(1),
  '-': actions => actions.changeSpeed(-1),
  '/': actions => actions.focusFilter(),
}
