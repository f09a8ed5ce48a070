import type { Envelope, UIEvent } from '@chirality/core'
import { flushSync } from 'react-dom'
import { createRoot, type Root } from 'react-dom/client'
import ReactMarkdown from 'react-markdown'
import { ChatPane } from '../../src/panes/chat/ChatPane.tsx'
import { SessionStore } from '../../src/state/session/session-store.ts'
import { SessionContext } from '../../src/state/session/use-session.ts'
import { CannedServer } from '../../test/support/canned-client.tsx'
import { manyTurns, markdownOf } from '../app/texts.ts'
import { watchFrames } from './watch-frames.ts'
import '../../src/styles/tokens.css'
import '../../src/styles/base.css'

const DELTA_CHARS = 24

const bench = {
  /** Milliseconds to show one more piece of an answer that has `chars` characters already, the median of some. */
  async ours(chars: number): Promise<number> {
    const { store, push } = await openChat([{ type: 'turn:start', message: 'go' }])
    const text = markdownOf(chars + UPDATES * DELTA_CHARS)
    push([{ type: 'chat:delta', messageId: 'm', text: text.slice(0, chars) }])
    flushSync(() => store.flush())
    await frames(10)
    return median(
      await repeat(UPDATES, i => {
        const at = chars + i * DELTA_CHARS
        push([{ type: 'chat:delta', messageId: 'm', text: text.slice(at, at + DELTA_CHARS) }])
        flushSync(() => store.flush())
      }),
    )
  },

  async reactMarkdown(chars: number): Promise<number> {
    const root = freshRoot()
    const text = markdownOf(chars + UPDATES * DELTA_CHARS)
    const show = (end: number) =>
      flushSync(() => root.render(<ReactMarkdown>{text.slice(0, end)}</ReactMarkdown>))
    show(chars)
    await frames(10)
    return median(await repeat(UPDATES, i => show(chars + (i + 1) * DELTA_CHARS)))
  },

  /** 200 pieces a second on top of an answer of `chars` characters, through the store's own frames. */
  async stream(chars: number, seconds: number) {
    const { push } = await openChat([{ type: 'turn:start', message: 'go' }])
    const total = DELTAS_PER_SECOND * seconds
    const text = markdownOf(chars + total * DELTA_CHARS)
    push([{ type: 'chat:delta', messageId: 'm', text: text.slice(0, chars) }])
    await frames(30)
    const watch = watchFrames()
    const start = performance.now()
    let sent = 0
    while (sent < total) {
      const due = Math.min(total, Math.floor(((performance.now() - start) / 1000) * DELTAS_PER_SECOND))
      for (; sent < due; sent++) {
        const at = chars + sent * DELTA_CHARS
        push([{ type: 'chat:delta', messageId: 'm', text: text.slice(at, at + DELTA_CHARS) }])
      }
      await new Promise(resolve => setTimeout(resolve, 2))
    }
    await frames(2)
    return watch.stop()
  },

  /** Opens a session with so many rows as the dashboard does, the end of its log first, and scrolls 3,000 px a frame. */
  async scroll(rows: number) {
    const log = envelopesOf(manyTurns(rows), 0)
    const start = performance.now()
    const { store } = await openChat([], log.slice(-TAIL))
    const shownMs = performance.now() - start
    store.restart()
    for (let i = 0; i < log.length; i += BATCH) {
      store.push(log.slice(i, i + BATCH))
      if (i % (BATCH * 8) === 0) await frames(1)
    }
    await frames(20)
    const scroller = document.querySelector('.chat__scroll')
    if (!scroller) throw new Error('no conversation')
    const height = scroller.scrollHeight
    const watch = watchFrames()
    for (let i = 0; i < SCROLL_FRAMES; i++) {
      scroller.scrollTop -= 3000
      await frames(1)
    }
    return { ...watch.stop(), shownMs, height, drawn: document.querySelectorAll('.chat__row').length }
  },
}

export type Bench = typeof bench
Object.assign(window, { bench })

const UPDATES = 30
const DELTAS_PER_SECOND = 200
const SCROLL_FRAMES = 180
const TAIL = 400
const BATCH = 512
let root: Root | null = null

function freshRoot(): Root {
  root?.unmount()
  const element = document.getElementById('root')
  if (!element) throw new Error('no root')
  root = createRoot(element)
  return root
}

async function openChat(events: readonly object[], preview: readonly Envelope[] = []) {
  const store = new SessionStore('s')
  let seq = 0
  const push = (more: readonly object[]) => {
    store.push(envelopesOf(more, seq))
    seq += more.length
  }
  push(events)
  store.flush()
  store.startAtEnd(preview)
  freshRoot().render(
    <CannedServer answers={ANSWERS}>
      <SessionContext value={store}>
        <div style={{ height: '100vh' }}>
          <ChatPane />
        </div>
      </SessionContext>
    </CannedServer>,
  )
  await frames(3)
  return { store, push }
}

/** The bench shows nothing that asks the server for more. */
const ANSWERS = { 'system.info': () => ({ version: '', demo: null }) }

function envelopesOf(events: readonly object[], after: number): Envelope[] {
  return events.map((event, i) => {
    const seq = after + i + 1
    const at = new Date(seq * 100).toISOString()
    return { seq, at, sessionId: 's', turnId: 't', event: { ...event, sessionId: 's' } as UIEvent }
  })
}

/** The time of each, with layout: what the browser would do before the next frame anyway. */
async function repeat(times: number, run: (i: number) => void): Promise<number[]> {
  const spent: number[] = []
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    run(i)
    document.body.getBoundingClientRect()
    spent.push(performance.now() - start)
    await frames(1)
  }
  return spent
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

async function frames(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(requestAnimationFrame)
}
