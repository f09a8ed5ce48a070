import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'

test('the example in the README runs', () => {
  const [run] = runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run?.stdout).toBe('1 turn:start\n2 chat:message\n3 turn:end\nFirst\n')
})
