import {
  type FocusEvent,
  type KeyboardEvent,
  lazy,
  type PointerEvent,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import type { SessionStatus } from '../../state/server/answers.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import type { FileSource } from './FileBody.tsx'

const WhoWrote = lazy(() => import('../files/WhoWrote.tsx'))

interface LineOriginsProps {
  status: SessionStatus
  /** Which trees the changes are of. */
  source: FileSource
  /** Where it is said: it stays in view while the lines are read. */
  foot: HTMLElement | null
  /** Files with their line numbers. They are not drawn again when a line is chosen. */
  children: ReactNode
}

interface ChosenLine {
  path: string
  line: number
  side: 'old' | 'new'
}

/** The pointer passes many numbers on its way. */
const REST_MS = 150

/** Says who wrote the line whose number has the focus or is under the pointer. */
export function LineOrigins({ status, source, foot, children }: LineOriginsProps) {
  const { sessionId, turnId, since, hasFiles } = source
  const scope = `${sessionId} ${turnId} ${since}`
  const [chosen, setChosen] = useState<(ChosenLine & { scope: string }) | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const choose = (target: EventTarget, afterMs: number) => {
    clearTimeout(timer.current)
    const line = hasFiles ? lineOf(target) : null
    if (line === null) return
    if (afterMs === 0) setChosen({ ...line, scope })
    else timer.current = setTimeout(() => setChosen({ ...line, scope }), afterMs)
  }
  const close = () => setChosen(null)
  const shown = chosen?.scope === scope ? chosen : null
  const of = shown && {
    side: shown.side,
    ...(turnId === undefined ? {} : { turnId }),
    ...(since === undefined ? {} : { since }),
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only looks at what happens to the numbers, which are buttons
    <div
      className="line-origins"
      onPointerOver={({ target, pointerType }: PointerEvent) =>
        choose(target, pointerType === 'mouse' ? REST_MS : 0)
      }
      onFocus={({ target }: FocusEvent) => choose(target, 0)}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key !== 'Escape' || shown === null || lineOf(event.target) === null) return
        event.stopPropagation()
        close()
      }}
    >
      {children}
      {foot && shown && of
        ? createPortal(
            <div className="line-origin">
              <Suspense fallback={null}>
                <WhoWrote status={status} path={shown.path} line={shown.line} of={of} />
              </Suspense>
              <IconButton icon="close" label="Close who wrote the line" onClick={close} />
            </div>,
            foot,
          )
        : null}
    </div>
  )
}

/** Line whose number was pointed at or has the focus. */
function lineOf(target: EventTarget): ChosenLine | null {
  const number = target instanceof Element ? target.closest<HTMLElement>('.diff__number[data-line]') : null
  const file = number?.closest<HTMLElement>('.file-change')
  if (!number || !file) return null
  const side = number.dataset.side === 'new' ? 'new' : 'old'
  const path = side === 'new' ? file.ariaLabel : file.dataset.oldPath
  return path ? { path, line: Number(number.dataset.line), side } : null
}
