import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { HarnessNotInstalledError } from '@chirality/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findAgentSdk } from './config.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-sdk-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('the one that is installed beside this package', () => {
  const { version, url } = findAgentSdk()
  expect(version).toMatch(/^0\.3\./)
  expect(url).toMatch(/^file:.*sdk\.mjs$/)
})

test.each([
  ['no folder', undefined],
  ['no JSON', '{'],
  ['another package', '{"name":"left-pad","version":"9.0.0","main":"x.js"}'],
  ['null', 'null'],
])('%s: says how to install it', (_, manifest) => {
  if (manifest === undefined) rmSync(folder, { recursive: true })
  else writeFileSync(path.join(folder, 'package.json'), manifest)
  expect(() => findAgentSdk(folder)).toThrow(/npm install @anthropic-ai\/claude-agent-sdk/)
  expect(() => findAgentSdk(folder)).toThrow(HarnessNotInstalledError)
  mkdirSync(folder, { recursive: true })
})
