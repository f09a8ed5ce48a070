import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'

test('the example in the README runs', async () => {
  const [run] = await runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run?.stdout).toBe(
    ['chirality/fix-the-login from main', '0 commits and 1 file kept', '?? notes.txt', ''].join('\n'),
  )
})
