import { SizeIndex } from './size-index.ts'

export interface Rows {
  readonly count: number
  /** A guess at a height, for rows that were never drawn. */
  estimate(index: number): number
  keyOf(index: number): string | number
}

export interface RowRange {
  readonly start: number
  /** After the last row. */
  readonly end: number
}

/** How much is drawn beyond what is seen. */
const OVERSCAN_PX = 400
/** How far from the end still counts as being there. */
const END_PX = 48
/** A jump lands where its row is, also when rows on the way turn out higher than thought; then it lets go. */
const SETTLE_ROUNDS = 3

/**
 * Which rows of a long list are drawn, and where. Rows lie in a block in their natural flow; their heights are measured
 * before each paint, and what is in view stays where it is. At the end the list stays at the end, until somebody scrolls up.
 */
export class RowWindow {
  readonly #sizes = new SizeIndex()
  readonly #onRange: (range: RowRange) => void
  readonly #onAway: (away: boolean) => void
  readonly #observer: ResizeObserver
  #scroller: HTMLElement | null = null
  #block: HTMLElement | null = null
  #spacer: HTMLElement | null = null
  #range: RowRange = { start: 0, end: 0 }
  #pinned = true
  #away = false
  #lastTop = 0
  /** The rows that were drawn last, by their keys: where they are now says whether others came before them. */
  #drawn: { start: number; keys: (string | number)[] } = { start: 0, keys: [] }
  /** Shift of the rows in view by rows inserted before them; the scroll bar follows at the next settling. */
  #shiftedPx = 0
  #target: { index: number; rounds: number } | null = null

  /** Somebody has scrolled away from the end. */
  get isAway(): boolean {
    return this.#away
  }

  constructor(listeners: { onRange(range: RowRange): void; onAway(away: boolean): void }) {
    this.#onRange = listeners.onRange
    this.#onAway = listeners.onAway
    this.#observer = new ResizeObserver(() => this.settle())
  }

  get range(): RowRange {
    return this.#range
  }

  /** The first row that is in view. */
  get firstVisible(): number {
    return this.#sizes.indexAt(this.#top())
  }

  attach(parts: { scroller: HTMLElement; spacer: HTMLElement; block: HTMLElement }): () => void {
    this.#scroller = parts.scroller
    this.#spacer = parts.spacer
    this.#block = parts.block
    this.#observer.observe(parts.scroller)
    this.#observer.observe(parts.block)
    const onScroll = () => this.#scrolled()
    parts.scroller.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      parts.scroller.removeEventListener('scroll', onScroll)
      this.#observer.disconnect()
      this.#scroller = null
    }
  }

  /** The rows there are now. To be called before they are drawn. */
  setRows(rows: Rows): RowRange {
    this.#followShift(rows)
    this.#sizes.resize(rows.count, rows.estimate)
    this.#range = this.#wanted()
    const { start, end } = this.#range
    this.#drawn = { start, keys: Array.from({ length: end - start }, (_, i) => rows.keyOf(start + i)) }
    return this.#range
  }

  /** After rows were drawn or changed their height: measures them, and puts everything where it belongs. */
  settle(): void {
    const [scroller, block, spacer] = [this.#scroller, this.#block, this.#spacer]
    if (!scroller || !block || !spacer) return
    const moved = this.#shiftedPx + this.#measure(block, this.firstVisible)
    this.#shiftedPx = 0
    spacer.style.height = `${this.#sizes.total}px`
    // Not its place: a block that moves one way while its rows move the other is a layout shift to the browser.
    block.style.paddingTop = `${this.#sizes.offsetOf(this.#range.start)}px`
    if (this.#target) this.#approach(scroller, this.#target)
    else if (this.#pinned) scroller.scrollTop = scroller.scrollHeight
    else if (moved !== 0) scroller.scrollTop += moved
    this.#lastTop = scroller.scrollTop
    this.#say()
  }

  toEnd(): void {
    this.#target = null
    this.#pinned = true
    this.settle()
  }

  toIndex(index: number): void {
    this.#pinned = false
    this.#target = { index, rounds: SETTLE_ROUNDS }
    this.settle()
  }

  /** Earlier rows may come before those in view, as when the rest of a long log is there. */
  #followShift({ count, estimate, keyOf }: Rows): void {
    const { start, keys } = this.#drawn
    const first = Math.max(0, this.firstVisible - start)
    for (let i = first; i < keys.length; i++) {
      const before = start + i
      if (before < count && keyOf(before) === keys[i]) return
      const now = findLast(count, index => keyOf(index) === keys[i])
      if (now < 0) continue
      const place = this.#sizes.offsetOf(before)
      this.#sizes.shift(now - before, estimate)
      this.#shiftedPx += this.#sizes.offsetOf(now) - place
      return
    }
  }

  #top(): number {
    return (this.#scroller?.scrollTop ?? 0) + this.#shiftedPx
  }

  #scrolled(): void {
    const scroller = this.#scroller
    if (!scroller) return
    const { scrollTop } = scroller
    // A page that grew is further from its end without anybody having scrolled.
    if (scrollTop < this.#lastTop - 1) this.#pinned = false
    if (this.#fromEnd(scroller) <= END_PX) this.#pinned = true
    this.#lastTop = scrollTop
    this.#say()
  }

  /** The heights as they are; returns by how much what is in view was moved. */
  #measure(block: HTMLElement, firstVisible: number): number {
    let moved = 0
    let index = this.#range.start
    for (const row of block.children) {
      const size = row.getBoundingClientRect().height
      if (index < firstVisible) moved += size - this.#sizes.sizeOf(index)
      this.#sizes.set(index, size)
      index += 1
    }
    return moved
  }

  #approach(scroller: HTMLElement, target: { index: number; rounds: number }): void {
    scroller.scrollTop = this.#sizes.offsetOf(target.index)
    target.rounds -= 1
    if (target.rounds <= 0) this.#target = null
  }

  #say(): void {
    const scroller = this.#scroller
    if (!scroller) return
    const wanted = this.#wanted()
    const away = !this.#pinned && this.#fromEnd(scroller) > END_PX
    if (away !== this.#away) {
      this.#away = away
      this.#onAway(away)
    }
    if (this.#covers(wanted)) return
    this.#range = wanted
    this.#onRange(wanted)
  }

  /** Rows that are drawn and still near need no new drawing; far more of them than are needed do. */
  #covers({ start, end }: RowRange): boolean {
    const range = this.#range
    return start >= range.start && end <= range.end && range.end - range.start <= 2 * (end - start)
  }

  #wanted(): RowRange {
    const { count } = this.#sizes
    if (count === 0) return { start: 0, end: 0 }
    const height = this.#scroller?.clientHeight ?? 0
    const top = this.#pinned && !this.#target ? Math.max(0, this.#sizes.total - height) : this.#top()
    return {
      start: this.#sizes.indexAt(top - OVERSCAN_PX),
      end: Math.min(count, this.#sizes.indexAt(top + height + OVERSCAN_PX) + 1),
    }
  }

  #fromEnd(scroller: HTMLElement): number {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight
  }
}

function findLast(count: number, isIt: (index: number) => boolean): number {
  let index = count - 1
  while (index >= 0 && !isIt(index)) index -= 1
  return index
}
