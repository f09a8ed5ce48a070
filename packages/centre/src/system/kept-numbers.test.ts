import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { KeptNumbers } from './kept-numbers.ts'

async function aHome(): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'kept-numbers-')))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

test('a session stays read for another server, in any order of writes, and with many at once', async () => {
  const home = await aHome()
  const [one, other] = [new KeptNumbers(home, 'marks.json'), new KeptNumbers(home, 'marks.json')]
  await Promise.all(Array.from({ length: 20 }, (_, i) => one.raise(`s${i}`, i + 1)))
  await other.raise('s3', 40)
  await one.raise('s3', 7)
  expect(await one.all()).toMatchObject({ s0: 1, s3: 40, s19: 20 })
  await other.set('s3', 2)
  expect(await new KeptNumbers(home, 'marks.json').get('s3')).toBe(2)
})

test.each(['', '{', '{"a":1}', '[["a"],["b","c"],["d",1.5],7]'])(
  'a damaged file %j knows nothing',
  async text => {
    const home = await aHome()
    await writeFile(path.join(home, 'marks.json'), text, { mode: 0o600 })
    const marks = new KeptNumbers(home, 'marks.json')
    expect(await marks.all()).toEqual({})
    await marks.raise('a', 3)
    expect(await marks.all()).toEqual({ a: 3 })
  },
)
