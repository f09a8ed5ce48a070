import type { Found } from './found.tsx'

/** Elements without text to find: controls and numbers. */
const SKIPPED =
  '.tool__name, .tool__count, .tool__facts, .tool__last, .tool__reason, .tool__label, .diff__number, .diff__mark, .message-actions, figcaption, summary, .hidden-visually, .say__note, .you__note, .todos__head, [data-find="skip"], button:not(.tool__head)'
/** Text of one is not read on into the next. */
const BLOCKS =
  'p, li, td, th, pre, h1, h2, h3, h4, h5, h6, div, section, article, dt, dd, .tool__argument, blockquote'

/** Marks every place where the text is drawn. The browser paints them: nothing of the page is changed for it. Returns the current one. */
export function paintMarks(area: HTMLElement, pattern: RegExp, current: Found | null): Range | null {
  const all: Range[] = []
  let here: Range | null = null
  for (const item of area.querySelectorAll<HTMLElement>('[data-seq]')) {
    const ranges = rangesIn(item, pattern)
    if (current !== null && Number(item.dataset.seq) === current.seq)
      here = ranges[Math.min(current.nth, ranges.length - 1)] ?? null
    all.push(...ranges)
  }
  if (typeof Highlight !== 'undefined') {
    CSS.highlights.set('found', new Highlight(...all.filter(range => range !== here)))
    CSS.highlights.set('found-here', new Highlight(...(here ? [here] : [])))
  }
  return here
}

export function clearMarks(): void {
  if (typeof Highlight === 'undefined') return
  CSS.highlights.delete('found')
  CSS.highlights.delete('found-here')
}

/** So many frames a jump may take: rows are drawn, measured and opened on the way. */
const MAX_FRAMES = 90
const SETTLED_FRAMES = 3

/** Scrolls until the range is there and stays in view. Returns what stops it, as a person who scrolls does. */
export function bringIntoView(
  area: HTMLElement,
  { range, toRow }: { range(): Range | null; toRow(): void },
): () => void {
  let frame = 0
  let settled = 0
  let hand = false
  const stop = () => {
    hand = true
    cancelAnimationFrame(frame)
  }
  const look = (left: number) => {
    const found = range()
    if (found === null) {
      if (left % 15 === 0) toRow()
      settled = 0
    } else if (isInView(area, found)) settled += 1
    else {
      found.startContainer.parentElement?.scrollIntoView({ block: 'center', inline: 'nearest' })
      settled = 0
    }
    if (!hand && left > 0 && settled < SETTLED_FRAMES) frame = requestAnimationFrame(() => look(left - 1))
  }
  for (const type of ['wheel', 'touchmove'] as const)
    area.addEventListener(type, stop, { once: true, passive: true })
  look(MAX_FRAMES)
  return stop
}

function isInView(area: HTMLElement, range: Range): boolean {
  const { top, bottom } = range.getBoundingClientRect()
  for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
    const isArea = box.matches('.chat__scroll')
    if (isArea || box.scrollHeight > box.clientHeight + 1) {
      const edges = box.getBoundingClientRect()
      if (top < edges.top || bottom > edges.bottom) return false
    }
    if (isArea || box === area) return true
  }
  return true
}

function rangesIn(item: HTMLElement, pattern: RegExp): Range[] {
  const { text, pieces } = readText(item)
  return [...text.matchAll(pattern)].flatMap(match => {
    const range = document.createRange()
    const [from, to] = [placeOf(pieces, match.index), placeOf(pieces, match.index + match[0].length - 1)]
    if (!from || !to) return []
    range.setStart(from.node, from.offset)
    range.setEnd(to.node, to.offset + 1)
    return [range]
  })
}

interface TextPiece {
  node: Text
  start: number
}

/** The text of an item as one, and which node each part of it is in. What belongs to an item inside is left to that. */
function readText(item: HTMLElement): { text: string; pieces: TextPiece[] } {
  const walker = document.createTreeWalker(item, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node => {
    if (!(node instanceof HTMLElement)) return NodeFilter.FILTER_ACCEPT
    return node.dataset.seq !== undefined || node.matches(SKIPPED)
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT
  })
  const pieces: TextPiece[] = []
  let text = ''
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node instanceof Text) {
      pieces.push({ node, start: text.length })
      text += node.data
    } else if (node instanceof HTMLElement && node.matches(BLOCKS)) text += '\n'
  }
  return { text, pieces }
}

function placeOf(pieces: readonly TextPiece[], at: number): { node: Text; offset: number } | undefined {
  const piece = pieces.findLast(({ start }) => start <= at)
  if (!piece || at - piece.start >= piece.node.data.length) return undefined
  return { node: piece.node, offset: at - piece.start }
}
