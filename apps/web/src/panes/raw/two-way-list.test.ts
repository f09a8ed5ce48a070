import { expect, test } from 'vitest'
import { MAX_KEPT_ITEMS, type Slice, TwoWayList, type TwoWaySource } from './two-way-list.ts'

/** Numbers that grow, in pages; a place is an index. The last may be unfinished: then it is read again. */
class Numbers implements TwoWaySource<string, number> {
  items: string[] = []
  reads: string[] = []
  fault: Error | null = null
  pageItems = 3

  async last(): Promise<Slice<string, number>> {
    if (this.items.length === 0) return { items: [], before: null, after: null, more: false }
    return this.#slice(Math.max(0, this.items.length - this.pageItems), this.items.length)
  }

  async before(place: number): Promise<Slice<string, number>> {
    return this.#slice(Math.max(0, place - this.pageItems), place)
  }

  async after(place: number): Promise<Slice<string, number>> {
    return this.#slice(place, Math.min(this.items.length, place + this.pageItems))
  }

  keyOf(item: string): string {
    return item.replace('…', '')
  }

  placeOf(item: string): number {
    return this.items.indexOf(item)
  }

  weightOf(): number {
    return 1
  }

  #slice(start: number, end: number): Slice<string, number> {
    this.reads.push(`${start}-${end}`)
    if (this.fault) throw this.fault
    const isTorn = this.items[end - 1]?.endsWith('…')
    return {
      ...{ items: this.items.slice(start, end), before: start === 0 ? null : start },
      ...{ after: isTorn ? end - 1 : end, more: end < this.items.length },
    }
  }
}

function numbers(count: number) {
  const source = new Numbers()
  source.items = Array.from({ length: count }, (_, i) => `${i}`)
  return { source, list: new TwoWayList(source) }
}

test('the end first, then back to the beginning, and on as it grows', async () => {
  const { source, list } = numbers(7)
  expect(list.get().loaded).toBe(false)
  await list.refresh()
  expect(list.get()).toMatchObject({ items: ['4', '5', '6'], loaded: true, hasEarlier: true })
  expect(await list.earlier()).toBe(3)
  expect(await list.earlier()).toBe(1)
  expect(await list.earlier()).toBe(0)
  source.items.push('7', '8', '9', '10')
  await list.refresh()
  expect(list.get()).toMatchObject({ items: source.items, hasEarlier: false })
})

test('what is not there yet is asked for again', async () => {
  const { source, list } = numbers(0)
  await list.refresh()
  expect(list.get()).toMatchObject({ items: [], loaded: true, hasEarlier: false })
  source.items.push('0')
  await list.refresh()
  expect(list.get().items).toEqual(['0'])
})

test('what was not finished is replaced when it is', async () => {
  const { source, list } = numbers(2)
  source.items.push('2…')
  await list.refresh()
  expect(list.get().items).toEqual(['0', '1', '2…'])
  source.items[2] = '2'
  source.items.push('3')
  await list.refresh()
  expect(list.get().items).toEqual(['0', '1', '2', '3'])
})

test('many calls while one runs are one more read, and none is unheard', async () => {
  const { source, list } = numbers(1)
  await list.refresh()
  source.reads = []
  const calls = [list.refresh(), list.refresh(), list.refresh()]
  source.items.push('1')
  await Promise.all(calls)
  expect(list.get().items).toEqual(['0', '1'])
  expect(source.reads.length).toBeLessThanOrEqual(2)
})

test('reading back and reading on do not get into each other', async () => {
  const { source, list } = numbers(6)
  await list.refresh()
  source.items.push('6')
  await Promise.all([list.earlier(), list.refresh(), list.earlier()])
  expect(list.get().items).toEqual(source.items)
})

test('a place that is gone for good is left: the end is read anew', async () => {
  const { source, list } = numbers(6)
  await list.refresh()
  await list.earlier()
  const { after } = source
  source.after = async () => {
    throw new Error('That place is gone.')
  }
  await list.refresh()
  expect(list.get().items).toHaveLength(6)
  await list.refresh()
  await list.refresh()
  expect(list.get()).toMatchObject({ items: ['3', '4', '5'], problem: null })
  source.after = after
  source.items.push('6')
  await list.refresh()
  expect(list.get().items).toEqual(['3', '4', '5', '6'])
})

test('a failure is told, keeps what is there, and is over with the next read that works', async () => {
  const { source, list } = numbers(2)
  await list.refresh()
  source.fault = new Error('That place is gone.')
  await list.refresh()
  expect(list.get()).toMatchObject({ items: ['0', '1'], problem: 'That place is gone.' })
  source.fault = null
  source.items.push('2')
  await list.refresh()
  expect(list.get()).toMatchObject({ items: ['0', '1', '2'], problem: null })
})

test('an hour of output does not fill the memory, and what was forgotten can be read again', async () => {
  const { source, list } = numbers(1)
  await list.refresh()
  source.pageItems = 30_000
  for (let i = 1; i < 25_000; i++) source.items.push(`${i}`)
  await list.refresh()
  const { items, hasEarlier } = list.get()
  expect([items.length, items.at(-1), hasEarlier]).toEqual([MAX_KEPT_ITEMS, '24999', true])
  source.pageItems = 2
  await list.earlier()
  expect(list.get().items.slice(0, 3)).toEqual(['4998', '4999', '5000'])
})
