import { rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { commit, loggedRepository } from './support/logged-repository.ts'

test('files as they were are compared once, beside the look at them; changed files as they are now', async () => {
  const { repository, at, state, snapshot, diff, log, forgetLog } = loggedRepository()
  for (const name of ['a', 'b']) repository.write(name, `${name}\n`)
  commit(repository)
  const changed = async () => (await diff()).files.map(({ path: name, added }) => `${name} ${added}`)
  expect(await changed()).toEqual([])
  repository.write('a', 'one\n')
  await settled(at('a'))
  await snapshot()
  forgetLog()
  expect(await changed()).toEqual(['a 1'])
  expect(diffsIn(log())).toHaveLength(1)
  expect(log()).not.toContain('hash-object')

  repository.write('a', 'two\nlines\n')
  expect(await changed()).toEqual(['a 2'])
  repository.write('b', 'B\n')
  await settled(at('b'))
  expect(await changed()).toEqual(['a 2', 'b 1'])
  // Trimmed by another process: what is compared beside the look is gone.
  rmSync(path.join(state, 'objects'), { recursive: true })
  expect(await changed()).toEqual(['a 2', 'b 1'])
  commit(repository)
  expect(await changed()).toEqual([])
  repository.run('reset', '-q', '--soft', 'HEAD~1')
  expect(await changed()).toEqual(['a 2', 'b 1'])
})

test('before the first commit', async () => {
  const { repository, diff } = loggedRepository()
  expect((await diff()).files).toEqual([])
  repository.write('a', 'a\n')
  expect(await diff()).toMatchObject({ files: [{ path: 'a', kind: 'added' }], truncated: false })
})

function diffsIn(log: string): string[] {
  return log.split('\n').filter(line => line.startsWith('--no-pager diff '))
}

/** Until the next change of the file has another time for sure. */
async function settled(file: string): Promise<void> {
  const { ctimeMs } = statSync(file)
  // A time in whole seconds may be of a file system that knows no other.
  const ageMs = ctimeMs % 1000 === 0 ? 2600 : 150
  await expect.poll(() => Date.now() - ctimeMs, { timeout: 10_000 }).toBeGreaterThan(ageMs)
}
