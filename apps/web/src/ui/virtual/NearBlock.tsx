import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'

export interface NearBlockProps {
  /** A guess at its height, for as long as it was never drawn. */
  height: number
  /** Drawn wherever it is. */
  always: boolean
  /** Keeps the block once it was drawn, because it has state of its own. */
  keep?: boolean
  children: () => ReactNode
}

/**
 * A part of a long page in its natural flow, which is drawn only near what is seen; elsewhere an empty box of the same
 * height stands for it. For parts that stick, scroll sideways or hold others: a list of even rows has `VirtualList`.
 */
export function NearBlock({ height, always, keep = false, children }: NearBlockProps) {
  const box = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState<{ is: boolean; height: number }>({ is: false, height })
  useLayoutEffect(() => {
    const { current } = box
    if (!current || always) return
    return watch(current, isNear => {
      const measured = current.getBoundingClientRect().height
      setNear(before => {
        if (before.is === isNear || (keep && before.is)) return before
        return { is: isNear, height: before.is ? measured : before.height }
      })
    })
  }, [always, keep])
  const isDrawn = always || near.is
  return (
    <div ref={box} style={isDrawn ? undefined : { height: near.height }}>
      {isDrawn ? children() : null}
    </div>
  )
}

const MARGIN_PX = 1200

type Watcher = (isNear: boolean) => void
const observers = new WeakMap<Element | Document, IntersectionObserver>()
const watchers = new WeakMap<Element, Watcher>()

/** One observer for each thing that scrolls. */
function watch(element: HTMLElement, watcher: Watcher): () => void {
  const root = scrollerOf(element)
  let observer = observers.get(root)
  if (!observer) {
    const onChange = (entries: IntersectionObserverEntry[]) => {
      for (const { target, isIntersecting } of entries) watchers.get(target)?.(isIntersecting)
    }
    observer = new IntersectionObserver(onChange, { root, rootMargin: `${MARGIN_PX}px 0px` })
    observers.set(root, observer)
  }
  watchers.set(element, watcher)
  observer.observe(element)
  return () => {
    observer.unobserve(element)
    watchers.delete(element)
  }
}

/** Nearest ancestor that scrolls vertically. Skips elements that scroll only horizontally: their height equals their content. */
function scrollerOf(element: HTMLElement): Element | Document {
  for (let at = element.parentElement; at !== null; at = at.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(at)
    const isSideways = overflowX === 'auto' && at.scrollHeight <= at.clientHeight + 1
    if (/auto|scroll/.test(overflowY) && !isSideways) return at
  }
  return document
}
