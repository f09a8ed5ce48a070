import { describe, expect, test } from 'vitest'
import type { SpoolCursor, ThreadFeed } from './thread-feed.ts'
import type { ThreadMessage } from './thread-message.ts'
import { ThreadNews } from './thread-news.ts'

const KILOBYTE = 1024

/** A spool in which each message has the stated length. */
class Spool {
  readonly messages: ThreadMessage[] = []
  readonly news: ThreadNews
  opened = 0
  closed = 0
  #end = 0

  constructor({ canBeReadAgain = true } = {}) {
    this.news = new ThreadNews(offset => (canBeReadAgain ? this.#cursor(offset) : null))
  }

  tell(params: unknown, bytes = 10): string {
    return this.#add({ raw: this.#raw(params), offset: this.#end, bytes })
  }

  /** A notification of an unknown kind. */
  tellNew(params: unknown): string {
    const raw = { ...this.#raw(params), method: 'from/the/future' }
    return this.#add({ raw, offset: this.#end, bytes: 10 })
  }

  ask(params: Record<string, unknown>): boolean {
    const raw = this.#raw(params)
    const request = { id: this.messages.length, method: 'x', params }
    const message = { raw, request, offset: this.#end, bytes: 10 }
    this.#append(message)
    return this.news.tell(message)
  }

  #raw(params: unknown) {
    return { name: `#${this.messages.length}`, method: 'warning', params }
  }

  #add(message: ThreadMessage & { raw: { name: string } }): string {
    this.#append(message)
    this.news.tell(message)
    return message.raw.name
  }

  #append(message: ThreadMessage): void {
    this.messages.push(message)
    this.#end += message.bytes + 1
  }

  #cursor(offset: number): SpoolCursor {
    this.opened += 1
    let at = this.messages.findIndex(message => message.offset === offset)
    return {
      next: end => {
        const message = this.messages[at]
        if (!message || message.offset >= end) return undefined
        at += 1
        return message
      },
      close: () => {
        this.closed += 1
      },
    }
  }
}

function heard(feed: ThreadFeed | null): string[] {
  if (!feed) throw new Error('another one listens')
  const names: string[] = []
  for (let taken = feed.take(); taken !== 'end' && taken !== 'nothing'; taken = feed.take())
    if (taken !== 'later') names.push((taken.raw as { name: string }).name)
  return names
}

describe('news of threads', () => {
  test('of an unknown kind reaches the session whose thread it names, in whatever field, and no other', () => {
    const spool = new Spool()
    spool.tellNew({ value: 'said before anyone listened' })
    const [a, b] = [spool.news.listen('a'), spool.news.listen('b')]
    const ofA = spool.tellNew({ conversationId: 'a', msg: { delta: 'for a' } })
    const ofB = spool.tellNew({ run: { owner: { root: 'b' } } })
    spool.tellNew({ value: 'for nobody' })
    const ofAll = spool.tell({ message: 'of the process' })
    spool.news.end()
    expect([heard(a), heard(b)]).toEqual([
      [ofA, ofAll],
      [ofB, ofAll],
    ])
  })

  test('reaches who listens to the thread, what came before included', () => {
    const spool = new Spool()
    const before = spool.tell({ threadId: 'a' })
    spool.tell({ thread: { id: 'b' } })
    const feed = spool.news.listen('a')
    const after = spool.tell({ threadId: 'a' })
    spool.news.end()
    expect(heard(feed)).toEqual([before, after])
    expect(feed?.take()).toBe('end')
  })

  test('about no thread reaches everyone, or the first who comes', () => {
    const spool = new Spool()
    const early = spool.tell({})
    const [a, b] = [spool.news.listen('a'), spool.news.listen('b')]
    const late = spool.tell(null)
    expect(heard(a)).toEqual([early, late])
    expect(heard(b)).toEqual([late])
  })

  test('of a sub-agent, and of its own, belongs to the thread that started it', () => {
    const spool = new Spool()
    const feed = spool.news.listen('root')
    spool.tell({ thread: { id: 'child', parentThreadId: 'root' } })
    spool.tell({ thread: { id: 'grandchild', parentThreadId: 'child' } })
    expect(spool.ask({ threadId: 'grandchild' })).toBe(true)
    expect(heard(feed)).toEqual(['#0', '#1', '#2'])
  })

  test('has one listener a thread, and another after it has left', () => {
    const { news } = new Spool()
    expect(news.listen('a')).not.toBeNull()
    expect(news.listen('a')).toBeNull()
    news.leave('a')
    expect(news.listen('a')).not.toBeNull()
  })

  test('that nobody hears is kept up to a limit, requests included', () => {
    const spool = new Spool()
    expect(spool.ask({ threadId: 'a' })).toBe(true)
    for (let count = 0; count < 1_000; count += 1) spool.tell({ threadId: 'a' })
    for (let count = 0; count < 5; count += 1) spool.tell({ threadId: 'b' }, 900 * KILOBYTE)
    expect(spool.ask({ threadId: 'a' })).toBe(false)
    const kept = heard(spool.news.listen('a'))
    expect(kept).toHaveLength(100)
    expect(kept.at(0)).toBe('#0')
    expect(heard(spool.news.listen('b'))).toHaveLength(2)
  })

  test('a request about no thread has no owner', () => {
    expect(new Spool().ask({})).toBe(false)
  })

  test('a request after the turn has no owner either, also one of a sub-agent; the next turn hears nothing of it', () => {
    const spool = new Spool()
    spool.news.listen('a')
    spool.tell({ thread: { id: 'child', parentThreadId: 'a' } })
    expect(spool.news.leave('a')).toEqual([])
    expect(spool.ask({ threadId: 'a' })).toBe(false)
    expect(spool.ask({ threadId: 'child' })).toBe(false)
    const feed = spool.news.listen('a')
    expect(heard(feed)).toEqual([])
    expect(spool.ask({ threadId: 'child' })).toBe(true)
    expect(heard(feed)).toEqual(['#3'])
  })

  test('a thread that was let go of is as new', () => {
    const spool = new Spool()
    spool.news.listen('a')
    spool.news.leave('a')
    spool.news.forget('a')
    expect(spool.ask({ threadId: 'a' })).toBe(true)
    expect(heard(spool.news.listen('a'))).toEqual(['#0'])
  })

  test('a turn that is left gives back the requests that it did not get to', () => {
    const spool = new Spool()
    spool.ask({ threadId: 'a' })
    const feed = spool.news.listen('a')
    feed?.take()
    spool.ask({ threadId: 'a' })
    spool.tell({ threadId: 'a' }, 2048 * KILOBYTE)
    // Not in memory, but read from the spool again.
    spool.ask({ threadId: 'a' })
    expect(spool.opened).toBe(1)
    expect(spool.news.leave('a').map(({ id }) => id)).toEqual([1, 3])
    expect(spool.news.leave('a')).toEqual([])
  })

  test('says where in the spool a turn is to be found again', () => {
    const spool = new Spool()
    spool.tell({ thread: { id: 'child', parentThreadId: 'a' } })
    spool.tell({ threadId: 'b' })
    spool.tell({})
    expect(spool.news.listen('a')?.place).toEqual({ unheard: [0, 22], from: 33, children: ['child'] })
  })
})

describe('a reader that does not keep up', () => {
  test('gets all of its news in order, out of the spool where it was too much to keep', () => {
    const spool = new Spool()
    const feed = spool.news.listen('a')
    const mine: string[] = []
    for (let count = 0; count < 50; count += 1) {
      mine.push(spool.tell({ threadId: 'a' }, 100 * KILOBYTE))
      spool.tell({ threadId: 'b' })
    }
    expect(spool.opened).toBe(1)
    const [first] = [feed?.take()]
    expect(first).toBe(spool.messages[0])
    mine.push(spool.tell({ threadId: 'a' }))
    expect(heard(feed)).toEqual(mine.slice(1))
    expect(spool.closed).toBe(1)
    const next = spool.tell({ threadId: 'a' })
    expect(heard(feed)).toEqual([next])
    expect(spool.opened).toBe(1)
  })

  test('lets others have their turn while it goes through what is not its own', () => {
    const spool = new Spool()
    const feed = spool.news.listen('a')
    spool.tell({ threadId: 'a' }, 900 * KILOBYTE)
    spool.tell({ threadId: 'a' }, 900 * KILOBYTE)
    for (let count = 0; count < 5_000; count += 1) spool.tell({ threadId: 'b' })
    const last = spool.tell({ threadId: 'a' })
    feed?.take()
    feed?.take()
    expect(feed?.take()).toBe('later')
    expect(heard(feed)).toEqual([last])
  })

  test('still gets the rest when the process is gone, and leaving it closes the file', () => {
    const spool = new Spool()
    const [a, b] = [spool.news.listen('a'), spool.news.listen('b')]
    for (const threadId of ['a', 'b', 'a', 'b']) spool.tell({ threadId }, 900 * KILOBYTE)
    spool.news.end()
    expect(heard(a)).toEqual(['#0', '#2'])
    expect(a?.take()).toBe('end')
    b?.take()
    spool.news.leave('b')
    expect([spool.opened, spool.closed]).toEqual([2, 2])
  })

  test('is not let down when the spool cannot be opened again', () => {
    const spool = new Spool({ canBeReadAgain: false })
    const feed = spool.news.listen('a')
    for (let count = 0; count < 5; count += 1) spool.tell({ threadId: 'a' }, 900 * KILOBYTE)
    expect(heard(feed)).toHaveLength(5)
  })
})
