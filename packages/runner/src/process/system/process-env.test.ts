import { expect, test } from 'vitest'
import { processEnv } from './process-env.ts'

test('is a copy: changing it changes nothing', () => {
  const env = processEnv()
  const { PATH } = env
  env.PATH = 'changed'
  expect(processEnv().PATH).toBe(PATH)
})
