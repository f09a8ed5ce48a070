import { fileURLToPath } from 'node:url'
import { cageHere } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'

test('the example in the README runs, with the outcome of this machine', async () => {
  const [run] = await runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  // The example looks only into PATH and the folders of the system.
  const { refusal, environment } = cageHere()
  const isCertain = Object.keys(environment).length === 0
  if (isCertain)
    expect(run?.stdout).toBe(
      refusal?.test('on Linux only')
        ? 'system-unsupported\n'
        : refusal?.test('Install with: sudo apt-get')
          ? 'program-missing\n'
          : 'ready\n',
    )
  else expect(run?.stdout).toMatch(/^(ready|program-missing)\n$/)
})
