import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../../.scripts/readme-example.ts'
import { serveScript } from '../support/serve-script.ts'

test('the example in the README runs', async () => {
  const model = await serveScript({
    answers: [{ text: 'I look.', tool: 'clock', input: { city: 'Oslo' } }, 'It is noon.'],
  })
  const env = { ANTHROPIC_API_KEY: 'dummy', ANTHROPIC_BASE_URL: model.url }
  const runs = await runReadmeExamples(fileURLToPath(new URL('../../src/messages-api', import.meta.url)), env)
  await model.close()
  expect(runs).toEqual([
    {
      code: 0,
      stderr: '',
      stdout: [
        'I look.',
        '> clock {"city":"Oslo"}',
        '< In Oslo it is noon.',
        'It is noon.',
        'end_turn after 2 requests, 4 messages\n',
      ].join('\n'),
    },
  ])
})
