export interface KeyActions {
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
