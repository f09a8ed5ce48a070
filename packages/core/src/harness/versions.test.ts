import { expect, test } from 'vitest'
import { compareVersions, type HarnessVersions, versionNote, versionSupport } from './versions.ts'

const VERSIONS: HarnessVersions = { tested: ['2.1.197', '2.1.325'], oldest: '2.1.100' }

test.each([
  ['2.1.197', 'tested'],
  ['2.1.325', 'tested'],
  ['2.1.250', 'untested'],
  ['2.1.100', 'untested'],
  ['2.1.99', 'too-old'],
  ['2.1.100-beta.1', 'too-old'],
  ['1.0.128', 'too-old'],
  ['2.1.326', 'newer'],
  ['2.2.0', 'newer'],
  ['10.0.0', 'newer'],
  ['2.1.325-next.1', 'untested'],
  ['unknown', undefined],
  ['', undefined],
  [undefined, undefined],
])('%s is %s', (version, support) => {
  expect(versionSupport(version, VERSIONS)).toBe(support)
})

test('a harness that names no versions judges none', () => {
  expect(versionSupport('2.1.325', undefined)).toBeUndefined()
})

test.each([
  ['0.9.0', '0.10.0'],
  ['0.162.0-alpha.9', '0.162.0-alpha.15'],
  ['0.162.0-alpha.15', '0.162.0'],
  ['0.162.0-alpha', '0.162.0-alpha.1'],
  ['0.162.0-alpha', '0.162.0-beta'],
  ['2', '2.0.1'],
  ['not a version', '0.0.1'],
])('%s comes before %s', (earlier, later) => {
  expect(compareVersions(earlier, later)).toBeLessThan(0)
  expect(compareVersions(later, earlier)).toBeGreaterThan(0)
  expect(compareVersions(later, later)).toBe(0)
})

test('only what is not tested is remarked on', () => {
  expect(versionNote('tested', VERSIONS)).toBeUndefined()
  expect(versionNote(undefined, VERSIONS)).toBeUndefined()
  expect(versionNote('too-old', VERSIONS)).toBe('too old: 2.1.100 or later is needed')
  expect(versionNote('too-old', { ...VERSIONS, lacking: 'a voice' })).toBe(
    'too old: it lacks a voice, which came with 2.1.100',
  )
  expect(versionNote('newer', VERSIONS)).toBe('newer than the tested versions (2.1.197, 2.1.325)')
  const many = { ...VERSIONS, tested: ['2.1.100', '2.1.150', '2.1.197', '2.1.325'] }
  expect(versionNote('untested', many)).toBe('not among the tested versions (4 from 2.1.100 to 2.1.325)')
})
