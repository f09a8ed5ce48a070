import {
  type ReactNode,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { flushSync } from 'react-dom'
import { type RowRange, type Rows, RowWindow } from './row-window.ts'
import { ScrollRegion } from './ScrollRegion.tsx'
import './virtual-list.css'

export interface VirtualListHandle {
  toEnd(): void
  toIndex(index: number): void
  firstVisible(): number
}

export interface VirtualListProps extends Rows {
  label: string
  className?: string
  rowClassName?: string
  row(index: number): ReactNode
  /** Drawn before the rows, as what to say when there are none. */
  before?: ReactNode
  onAway?: (away: boolean) => void
  /** Its first rows are drawn, and somebody has scrolled there. */
  onStart?: () => void
  ref?: React.Ref<VirtualListHandle>
}

/** A list of any length that draws only what is seen, and stays at its end while it grows. */
export function VirtualList(props: VirtualListProps) {
  const { label, className, rowClassName, count, estimate, keyOf, row, before, onAway, onStart, ref } = props
  const scroller = useRef<HTMLElement>(null)
  const spacer = useRef<HTMLDivElement>(null)
  const block = useRef<HTMLDivElement>(null)
  const [, redraw] = useState<RowRange>()
  const away = useRef(onAway)
  away.current = onAway
  const [rows] = useState(
    () =>
      new RowWindow({
        // Not later: a frame that is painted before the new rows are there would be blank.
        onRange: range => queueMicrotask(() => flushSync(() => redraw(range))),
        onAway: value => queueMicrotask(() => away.current?.(value)),
      }),
  )
  const range = rows.setRows({ count, estimate, keyOf })

  useLayoutEffect(() => {
    if (!scroller.current || !spacer.current || !block.current) return
    return rows.attach({ scroller: scroller.current, spacer: spacer.current, block: block.current })
  }, [rows])
  useLayoutEffect(() => rows.settle())
  const isAtStart = range.start === 0 && count > 0 && rows.isAway
  const reached = useEffectEvent(() => onStart?.())
  useEffect(() => {
    if (isAtStart) reached()
  }, [isAtStart])
  useImperativeHandle(ref, () => ({
    toEnd: () => rows.toEnd(),
    toIndex: index => rows.toIndex(index),
    firstVisible: () => rows.firstVisible,
  }))

  const indexes = Array.from({ length: range.end - range.start }, (_, i) => range.start + i)
  return (
    <ScrollRegion
      ref={scroller}
      label={label}
      className={className ? `virtual-list ${className}` : 'virtual-list'}
    >
      {before}
      <div ref={spacer} className="virtual-list__rows">
        <div ref={block} className="virtual-list__block">
          {indexes.map(index => (
            <div key={keyOf(index)} className={rowClassName} data-index={index}>
              {row(index)}
            </div>
          ))}
        </div>
      </div>
    </ScrollRegion>
  )
}
