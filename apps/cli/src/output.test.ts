import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { Output } from './output.ts'

/** A reader that takes nothing until it is told to. */
function slowReader() {
  const taken: string[] = []
  let next = () => {}
  const stream = new Writable({
    highWaterMark: 1,
    write: (chunk, _encoding, done) => {
      taken.push(String(chunk))
      next = done
    },
  })
  return { stream, taken, read: () => next(), output: new Output(stream as unknown as NodeJS.WriteStream) }
}

test('many who write to a slow reader wait together, and are let go together', async () => {
  const { stream, taken, output, read } = slowReader()
  const written = Array.from({ length: 1000 }, (_, i) => output.write(`${i}\n`))
  for (const event of ['drain', 'close', 'error'])
    expect(stream.listenerCount(event), event).toBeLessThanOrEqual(2)
  while (taken.length < 1000) {
    read()
    await new Promise(setImmediate)
  }
  read()
  expect(await Promise.all(written)).toEqual(written.map(() => true))
})

test('when the process is to end, nobody waits for the reader any more', async () => {
  const { output } = slowReader()
  const written = ['one', 'two', 'three'].map(text => output.write(text))
  output.hurry()
  expect(await Promise.all(written)).toEqual([true, true, true])
})
