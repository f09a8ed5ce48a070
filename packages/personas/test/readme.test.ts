import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../.scripts/readme-example.ts'

test('the example in the README runs', async () => {
  const [run] = await runReadmeExamples(fileURLToPath(new URL('..', import.meta.url)))
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(run?.stdout).toBe(
    [
      "DECOMP [ 'Read', 'Grep', 'Bash' ]",
      'agents/AGENT_TYPO.md:2: "tool" is not a key of a persona. Did you mean "tools"?',
      'true true []',
      '{',
      '  maxTurns: 10,',
      "  tools: 'Read,Grep,Bash',",
      "  disallowedTools: [ 'Write', 'Edit' ],",
      "  autoApproveTools: [ 'Bash(git log *)' ]",
      '}',
      '3 warnings',
      '',
    ].join('\n'),
  )
})
