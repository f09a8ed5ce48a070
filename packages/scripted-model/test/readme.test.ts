import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'
import { parseScript } from '../src/index.ts'

test('the example in the README runs', async () => {
  const [run] = await runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run?.stdout).toBe(
    '200 tool_use\n529 overloaded_error\n529 overloaded_error\n200 text\nanswers[0] answers[1] answers[1] answers[2]\n',
  )
})

test('the script in the README is a good one', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, script = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(readme) ?? []
  expect(parseScript(script, 'README.md').answers).toHaveLength(12)
})
