import { expect, test } from 'vitest'
import { serverEnvironment } from './server-harnesses.ts'

const SHELL = { PATH: '/home/me/.local/bin:/usr/bin', JAVA_HOME: '/java', HOME: '/from-shell' }

test('a start from a dock finds what the login shell finds; what it has itself wins', async () => {
  const own = { PATH: '/usr/bin:/bin', HOME: '/home/me' }
  expect(await serverEnvironment(own, async () => SHELL)).toEqual({
    PATH: '/usr/bin:/bin:/home/me/.local/bin',
    JAVA_HOME: '/java',
    HOME: '/home/me',
  })
})

test.each(['TERM', 'SHLVL'])('a start from a shell, which sets %s, asks nobody', async name => {
  const own = { PATH: '/bin', [name]: '1' }
  const detect = () => Promise.reject(new Error('asked'))
  expect(await serverEnvironment(own, detect)).toBe(own)
})
