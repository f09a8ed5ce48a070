import { readFileSync } from 'node:fs'
import type { HarnessVersions } from '@chirality/core'
import { expect, test } from 'vitest'
import { AgentSdkHarness } from '../agent-sdk/harness.ts'
import { CodexHarness } from '../codex/harness.ts'
import { refuseTooOld, versionNotice } from './agent-version.ts'

const AGENT = { harnessId: 'claude-code', name: 'Claude Code' }
const VERSIONS: HarnessVersions = {
  tested: ['2.1.325'],
  oldest: '2.1.100',
  lacking: 'a way to ask',
  update: 'Update it with `npm install`.',
}

test('a release that is too old is refused with its version, what it lacks, and what to do', () => {
  expect(() => refuseTooOld('2.0.3', VERSIONS, AGENT)).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      harnessId: 'claude-code',
      message:
        'Claude Code 2.0.3 is too old: it lacks a way to ask, which came with 2.1.100. Update it with `npm install`.',
    }),
  )
})

test.each(['2.1.100', '2.1.325', '3.0.0', undefined])('version %s is accepted', version => {
  expect(() => refuseTooOld(version, VERSIONS, AGENT)).not.toThrow()
})

test('an untested release causes a notice', () => {
  const notice = (version: string) => versionNotice('s', { version, versions: VERSIONS, name: 'Claude Code' })
  expect(notice('2.1.325')).toBeUndefined()
  expect(notice('2.1.400')).toEqual({
    type: 'status',
    sessionId: 's',
    status: 'notice',
    level: 'info',
    message: 'Claude Code 2.1.400 is newer than the tested versions (2.1.325).',
    data: { kind: 'version', version: '2.1.400', support: 'newer' },
  })
})

test.each([
  [new AgentSdkHarness(), '@anthropic-ai/claude-agent-sdk'],
  [new CodexHarness(), '@openai/codex'],
])('the oldest version of %o is the one that the package asks for', (harness, name) => {
  const { peerDependencies } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { peerDependencies: Record<string, string> }
  const { versions } = harness.meta()
  expect(peerDependencies[name]).toBe(`>=${versions?.oldest}`)
})
