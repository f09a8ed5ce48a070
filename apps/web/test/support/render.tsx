import { act, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { onTestFinished } from 'vitest'

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

/** Draws something into a page of its own, which is gone when the test is. */
export function render(node: ReactNode): HTMLElement {
  const element = document.createElement('div')
  document.body.append(element)
  const root = createRoot(element)
  act(() => root.render(node))
  onTestFinished(() => {
    act(() => root.unmount())
    element.remove()
  })
  return element
}

export function click(element: Element | null | undefined): void {
  if (!element) throw new Error('There is nothing to click.')
  act(() => element.dispatchEvent(new MouseEvent('click', { bubbles: true })))
}

export function buttonNamed(root: ParentNode, name: string): HTMLButtonElement | undefined {
  return [...root.querySelectorAll('button')].find(button => nameOf(button) === name)
}

/** What a button says, without what is hidden from those who hear the page. */
export function nameOf(button: Element): string {
  const heard = button.cloneNode(true) as Element
  for (const hidden of heard.querySelectorAll('[aria-hidden="true"]')) hidden.remove()
  return heard.textContent ?? ''
}
