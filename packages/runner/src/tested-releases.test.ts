import { readFileSync } from 'node:fs'
import { versionSupport } from '@chirality/core'
import { expect, test } from 'vitest'
import { HARNESSES } from './harnesses.ts'
import { MATRIX_RELEASES } from './tested-releases.generated.ts'
import { countAsTested, testedReleases } from './tested-releases.ts'

const RESULTS = new URL('../../../docs/conformance.json', import.meta.url)

interface Result {
  entry: string
  refused?: string
  findings: { outcome: string }[]
}

test('the releases that count as tested are those that passed the published matrix', () => {
  const results = JSON.parse(readFileSync(RESULTS, 'utf8')) as Result[]
  for (const id of ['claude-code', 'codex']) {
    const green = results
      .filter(({ entry, refused, findings }) => {
        const passed = findings.every(({ outcome }) => outcome === 'supported' || outcome === 'not-offered')
        return entry.startsWith(`${id}@`) && refused === undefined && passed
      })
      .map(({ entry }) => entry.slice(id.length + 1))
    expect(green.length).toBeGreaterThan(1)
    expect(MATRIX_RELEASES[id]).toEqual(green)
    const versions = HARNESSES.find(({ meta }) => meta.id === id)?.meta.versions
    for (const version of green) expect(versionSupport(version, versions)).toBe('tested')
  }
})

test('a release that passed on this machine is tested from then on, and the list stays in order', () => {
  const versions = { tested: testedReleases('an-agent', ['1.10.0', '1.2.0']), oldest: '1.0.0' }
  expect(versionSupport('1.9.0', versions)).toBe('untested')
  countAsTested('an-agent', '1.9.0')
  countAsTested('an-agent', '1.9.0')
  expect(versions.tested).toEqual(['1.2.0', '1.9.0', '1.10.0'])
  expect(versionSupport('1.9.0', versions)).toBe('tested')
})
