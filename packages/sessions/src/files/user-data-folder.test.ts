import { expect, test } from 'vitest'
import { userDataFolder } from './user-data-folder.ts'

const DEFAULTS: Record<string, string> = {
  darwin: '/home/me/Library/Application Support/chirality',
  linux: '/home/me/.local/share/chirality',
}

test('the usual place of the platform, unless it was moved', () => {
  expect(userDataFolder({ HOME: '/home/me' })).toBe(DEFAULTS[process.platform])
  expect(userDataFolder({ HOME: '/home/me', CHIRALITY_HOME: '/elsewhere' })).toBe('/elsewhere')
})
