import { expect, test } from 'vitest'
import { withJudgingPart } from '../../src/proof/judging-part.ts'

const BASE = '[package]\nname = "a"\nversion = "1.0.0"\n\n[dependencies]\n'
const put = (now: string) => withJudgingPart('Cargo.toml', BASE, now, new Set())

test.each([
  ['autotests', BASE.replace('version', 'autotests = false\nversion')],
  ['a library without tests', `${BASE}\n[lib]\ntest = false\n`],
  ['a build script', BASE.replace('version', 'build = "easy.rs"\nversion')],
])('%s is taken back', (_, now) => {
  expect(put(now)).not.toBeNull()
  expect(put(now)).not.toMatch(/autotests|test = false|build =/)
})

test('a version and a dependency are the project itself', () => {
  expect(put(BASE.replace('1.0.0', '1.1.0'))).toBeNull()
  expect(put(`${BASE}serde = "1"\n`)).toBeNull()
})
