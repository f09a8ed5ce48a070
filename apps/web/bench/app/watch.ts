import type { Page } from 'playwright-core'
import { MARK } from './protocol.ts'

export interface Watched {
  fps: number
  /** The longest task, in milliseconds; 0 when none took 50 ms or more. */
  longestTaskMs: number
  longTasks: number
  /** What moved without anybody's doing, summed up as for the page's CLS: over the worst five seconds. */
  layoutShift: number
  /** What moved, for who has to find out why. */
  shifted: string[]
  /** When each mark was in the page, by `Date.now()`. */
  seenAt: (number | null)[]
}

interface Watching {
  stop(): Watched
}

/** Watches the page from now on, with its own eyes. */
export function watch(page: Page): Promise<void> {
  return page.evaluate(mark => {
    const start = performance.now()
    let frames = 0
    let running = true
    requestAnimationFrame(function step() {
      frames += 1
      if (running) requestAnimationFrame(step)
    })

    const tasks: number[] = []
    const shifts: { value: number; at: number; what: string }[] = []
    const take = (entries: PerformanceEntryList) => {
      for (const entry of entries) {
        if (entry.entryType === 'longtask') tasks.push(entry.duration)
        else if (!(entry as LayoutShift).hadRecentInput) shifts.push(shiftOf(entry as LayoutShift))
      }
    }
    interface LayoutShift extends PerformanceEntry {
      value: number
      hadRecentInput: boolean
      sources: { node: Element | null; previousRect: DOMRect; currentRect: DOMRect }[]
    }
    const shiftOf = ({ value, startTime: at, sources }: LayoutShift) => {
      const what = sources.map(({ node, previousRect: a, currentRect: b }) => {
        const name = node?.className || node?.nodeName || '?'
        return `${name} ${a.x},${a.y} ${a.width}x${a.height} to ${b.x},${b.y} ${b.width}x${b.height}`
      })
      return { value, at, what: `${value.toFixed(4)}: ${what.join('; ')}` }
    }
    const observers = ['longtask', 'layout-shift'].map(type => {
      const observer = new PerformanceObserver(list => take(list.getEntries()))
      observer.observe({ type })
      return observer
    })

    const seenAt: (number | null)[] = []
    const pattern = new RegExp(`${mark}(\\d+) `, 'g')
    const chat = document.querySelector('.chat')
    const mutations = new MutationObserver(records => {
      const now = Date.now()
      for (const { target, addedNodes } of records) {
        const texts = addedNodes.length > 0 ? [...addedNodes] : [target]
        for (const node of texts)
          for (const [, number] of (node.textContent ?? '').matchAll(pattern)) seenAt[Number(number)] ??= now
      }
    })
    if (chat) mutations.observe(chat, { childList: true, characterData: true, subtree: true })

    const stop = () => {
      running = false
      for (const observer of observers) {
        take(observer.takeRecords())
        observer.disconnect()
      }
      mutations.disconnect()
      const worst = shifts.map(({ at: first }) =>
        shifts.reduce((sum, { value, at }) => (at >= first && at - first <= 5000 ? sum + value : sum), 0),
      )
      return {
        fps: frames / ((performance.now() - start) / 1000),
        longestTaskMs: Math.max(0, ...tasks),
        longTasks: tasks.length,
        layoutShift: Math.max(0, ...worst),
        shifted: shifts.filter(({ value }) => value > 0).map(({ what }) => what),
        seenAt: Array.from(seenAt, time => time ?? null),
      }
    }
    Object.assign(window, { watching: { stop } })
  }, MARK)
}

export function stopWatching(page: Page): Promise<Watched> {
  return page.evaluate(() => (window as unknown as { watching: Watching }).watching.stop())
}
