import { expect, test } from 'vitest'
import { emitted, LEFT } from './emitted.ts'

test('values come in order, and the function waits until the next one is asked for', async () => {
  const steps: string[] = []
  const values = emitted<number>(async emit => {
    steps.push('begins')
    await emit(1)
    steps.push('goes on')
    await emit(2)
    steps.push('ends')
  })
  expect(steps).toEqual([])
  expect(await values.next()).toEqual({ done: false, value: 1 })
  expect(steps).toEqual(['begins'])
  expect(await values.next()).toEqual({ done: false, value: 2 })
  expect(steps).toEqual(['begins', 'goes on'])
  expect(await values.next()).toEqual({ done: true, value: undefined })
  expect(await values.next()).toEqual({ done: true, value: undefined })
})

test('an error of the function rejects the read that waits for it', async () => {
  const values = emitted<number>(async emit => {
    await emit(1)
    throw new Error('broken')
  })
  await values.next()
  await expect(values.next()).rejects.toThrow('broken')
  expect(await values.next()).toEqual({ done: true, value: undefined })
})

test('a reader that leaves runs only the finally blocks, and waits for them', async () => {
  const steps: unknown[] = []
  const values = emitted<number>(async emit => {
    try {
      await emit(1)
      steps.push('never')
    } catch (error) {
      steps.push(error)
      throw error
    } finally {
      await Promise.resolve()
      steps.push('finally')
    }
  })
  await values.next()
  expect(await values.return(undefined)).toEqual({ done: true, value: undefined })
  expect(steps).toEqual([LEFT, 'finally'])
})

test('a reader that leaves while it waits gets the value, and the function ends after it', async () => {
  let release: () => void = () => {}
  const values = emitted<number>(async emit => {
    await new Promise<void>(resolve => {
      release = resolve
    })
    await emit(1)
    await emit(2)
  })
  const first = values.next()
  const left = values.return(undefined)
  release()
  expect(await first).toEqual({ done: false, value: 1 })
  expect(await left).toEqual({ done: true, value: undefined })
  expect(await values.next()).toEqual({ done: true, value: undefined })
})

test('one that was left before its first value never begins', async () => {
  let hasBegun = false
  const values = emitted<number>(async () => {
    hasBegun = true
  })
  await values.return(undefined)
  expect(await values.next()).toEqual({ done: true, value: undefined })
  expect(hasBegun).toBe(false)
})

test('throw() is an error in emit, and the function may go on', async () => {
  const values = emitted<string>(async emit => {
    try {
      await emit('first')
    } catch (error) {
      await emit(String(error))
    }
  })
  await values.next()
  expect(await values.throw('broken')).toEqual({ done: false, value: 'broken' })
  expect(await values.next()).toEqual({ done: true, value: undefined })
})
