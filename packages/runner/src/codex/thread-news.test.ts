import { describe, expect, test } from 'vitest'
import type { AsyncQueue } from '../async-queue.ts'
import { type ThreadMessage, ThreadNews } from './thread-news.ts'

const message = (raw: string) => ({ raw })
const request = (raw: string) => ({ raw, request: { id: 1, method: 'x', params: {} } })

async function heard(queue: AsyncQueue<ThreadMessage> | null): Promise<unknown[]> {
  if (!queue) throw new Error('another one listens')
  const all: unknown[] = []
  for await (const { raw } of queue) all.push(raw)
  return all
}

describe('news of threads', () => {
  test('reaches who listens to the thread, what came before included', async () => {
    const news = new ThreadNews()
    news.tell({ threadId: 'a' }, message('before'))
    news.tell({ thread: { id: 'b' } }, message('other'))
    const queue = news.listen('a')
    news.tell({ threadId: 'a' }, message('after'))
    news.end()
    expect(await heard(queue)).toEqual(['before', 'after'])
  })

  test('about no thread reaches everyone, or the first who comes', async () => {
    const news = new ThreadNews()
    news.tell({}, message('early'))
    const [a, b] = [news.listen('a'), news.listen('b')]
    news.tell(null, message('late'))
    news.end()
    expect(await heard(a)).toEqual(['early', 'late'])
    expect(await heard(b)).toEqual(['late'])
  })

  test('of a sub-agent, and of its own, belongs to the thread that started it', async () => {
    const news = new ThreadNews()
    const queue = news.listen('root')
    news.tell({ thread: { id: 'child', parentThreadId: 'root' } }, message('1'))
    news.tell({ thread: { id: 'grandchild', parentThreadId: 'child' } }, message('2'))
    expect(news.ask({ threadId: 'grandchild' }, request('3'))).toBe(true)
    news.end()
    expect(await heard(queue)).toEqual(['1', '2', '3'])
  })

  test('has one listener a thread, and another after it has left', async () => {
    const news = new ThreadNews()
    expect(news.listen('a')).not.toBeNull()
    expect(news.listen('a')).toBeNull()
    news.leave('a')
    expect(news.listen('a')).not.toBeNull()
  })

  test('that nobody hears is kept up to a limit; a request always', async () => {
    const news = new ThreadNews()
    for (let count = 0; count < 1_000; count += 1) news.tell({ threadId: 'a' }, message('news'))
    news.ask({ threadId: 'a' }, request('asked'))
    news.end()
    const kept = await heard(news.listen('a'))
    expect(kept).toHaveLength(101)
    expect(kept.at(-1)).toBe('asked')
  })

  test('a request about no thread has no owner', () => {
    expect(new ThreadNews().ask({}, request('who?'))).toBe(false)
  })
})
