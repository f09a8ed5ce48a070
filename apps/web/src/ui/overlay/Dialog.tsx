import { type ReactNode, type SyntheticEvent, useLayoutEffect, useRef } from 'react'
import { IconButton } from '../controls/IconButton.tsx'
import './dialog.css'

export interface DialogProps {
  title: string
  onClose(): void
  children: ReactNode
  /** `left` and `right` are sheets that slide over the page on small screens. */
  place?: 'center' | 'top' | 'left' | 'right' | 'replay' | 'wide'
  /** Without a visible heading the title is only read aloud. */
  bare?: boolean
}

/**
 * The browser's own modal dialog: it keeps the focus inside, closes on Escape and needs no inline style. The focus goes
 * to what has `data-first`, else to the dialog itself: the browser would choose the button that closes it.
 *
 * The browser tells of a close in a task of its own, and the next key may come before that: what is gone from the screen
 * would still swallow it. So Escape and clicks tell at once, and the late `close` is not told a second time.
 */
export function Dialog({ title, onClose, children, place = 'center', bare = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const told = useRef(false)
  const close = () => {
    if (told.current) return
    told.current = true
    onClose()
  }
  // What bubbles up from a dialog or a file chooser inside is theirs.
  const closeOwn = (event: SyntheticEvent) => {
    if (event.target === ref.current) close()
  }
  // Closed before it is taken out of the page: after that it would give the focus back to nobody.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog || dialog.open) return
    dialog.showModal()
    const first = dialog.querySelector<HTMLElement>('[data-first]') ?? dialog
    first.focus()
    return () => dialog.close()
  }, [])

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog; the keyboard has Escape
    <dialog
      ref={ref}
      className={`dialog dialog--${place}`}
      aria-label={title}
      tabIndex={-1}
      onCancel={closeOwn}
      onClose={closeOwn}
      onClick={closeOwn}
    >
      <div className="dialog__body">
        {bare ? null : (
          <header className="dialog__head">
            <h2>{title}</h2>
            <span className="spacer" />
            <IconButton icon="close" label="Close" onClick={close} />
          </header>
        )}
        {children}
      </div>
    </dialog>
  )
}
