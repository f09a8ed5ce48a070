import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'

test('the example in the README runs', async () => {
  const [run] = await runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run?.stdout.match(/^\d+ turn:end$/gm)).toHaveLength(2)
  expect(run?.stdout).toMatch(/^starting null\n[\s\S]*\ncompleted 0\.\d+\n$/)
})
