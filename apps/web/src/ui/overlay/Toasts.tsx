import { useLayoutEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { Button } from '../controls/Button.tsx'
import { IconButton } from '../controls/IconButton.tsx'
import { toasts } from './toast-store.ts'
import './toasts.css'

/** Toasts of other sessions wait until their page opens. */
export function Toasts({ shown }: { shown: string | undefined }) {
  const all = useSyncExternalStore(toasts.subscribe, toasts.list)
  const list = useMemo(
    () => all.filter(({ sessionId }) => sessionId === undefined || sessionId === shown),
    [all, shown],
  )
  const section = useRef<HTMLElement>(null)
  // Over a dialog that is open, too: what goes wrong there is said here. Shown anew it is the topmost.
  useLayoutEffect(() => {
    section.current?.hidePopover()
    if (list.length > 0) section.current?.showPopover()
  }, [list])
  return (
    <section ref={section} popover="manual" className="toasts" aria-label="Messages" aria-live="polite">
      {list.map(toast => (
        <div
          key={toast.id}
          className={`toast toast--${toast.level}`}
          role={toast.level === 'error' ? 'alert' : 'status'}
        >
          <span className="toast__text">{toast.message}</span>
          {toast.action ? (
            <Button size="small" onClick={toast.action.run}>
              {toast.action.label}
            </Button>
          ) : null}
          <IconButton icon="close" label="Close message" onClick={() => toasts.close(toast.id)} />
        </div>
      ))}
    </section>
  )
}
