import { expect, test } from 'vitest'
import { KeyedQueue } from './keyed-queue.ts'
import { OneAfterTheOther } from './one-after-the-other.ts'

/** Tasks that say when they begin and end, and end when they are told to. */
function useTasks() {
  const said: string[] = []
  const ends = new Map<string, { ok: () => void; fail: (error: Error) => void }>()
  const task = (name: string) => async () => {
    said.push(`${name} begins`)
    await new Promise<void>((ok, fail) => ends.set(name, { ok, fail }))
    said.push(`${name} ends`)
    return name
  }
  return { said, ends, task }
}

test('a task begins when the one before it has ended, also if that failed', async () => {
  const { said, ends, task } = useTasks()
  const tasks = new OneAfterTheOther()
  const first = tasks.run(task('first'))
  const second = tasks.run(task('second'))
  const all = tasks.settled().then(() => said.push('all settled'))
  await expect.poll(() => said).toEqual(['first begins'])
  ends.get('first')?.fail(new Error('full disk'))
  await expect(first).rejects.toThrow('full disk')
  await expect.poll(() => said).toEqual(['first begins', 'second begins'])
  ends.get('second')?.ok()
  expect(await second).toBe('second')
  await all
  expect(said).toEqual(['first begins', 'second begins', 'second ends', 'all settled'])
})

test('tasks of other keys do not wait', async () => {
  const { said, ends, task } = useTasks()
  const queue = new KeyedQueue()
  const results = ['a', 'a', 'b'].map((key, at) => queue.run(key, task(`${key}${at}`)))
  await expect.poll(() => said).toEqual(['a0 begins', 'b2 begins'])
  ends.get('b2')?.ok()
  ends.get('a0')?.ok()
  await expect.poll(() => said.at(-1)).toBe('a1 begins')
  ends.get('a1')?.ok()
  expect(await Promise.all(results)).toEqual(['a0', 'a1', 'b2'])
})
