import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { claudeBinary } from '@chirality/fixtures'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudeVersion, findClaude, knowsSystemPromptSnapshot } from './executable.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-executable-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function program(name: string, source = 'exit 0'): string {
  const file = path.join(folder, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${source}\n`)
  chmodSync(file, 0o755)
  return file
}

test('what is named is used, and nothing else', async () => {
  const named = program('named')
  const onPath = program('bin/claude')
  const environment = { PATH: path.dirname(onPath), HOME: folder }
  expect(await findClaude({ binaryPath: named, environment })).toBe(named)
  expect(await findClaude({ environment: { ...environment, CHIRALITY_CLAUDE_BIN: named } })).toBe(named)
  const missing = path.join(folder, 'missing')
  await expect(findClaude({ binaryPath: missing, environment })).rejects.toMatchObject({
    code: 'not_installed',
    instructions: expect.stringContaining(`${missing} does not exist`),
  })
})

test('then PATH, then the usual places of this HOME', async () => {
  const onPath = program('bin/claude')
  const local = program('home/.claude/local/claude')
  const HOME = path.join(folder, 'home')
  expect(await findClaude({ environment: { PATH: path.dirname(onPath), HOME } })).toBe(onPath)
  expect(await findClaude({ environment: { PATH: folder, HOME } })).toBe(local)
  // An environment without a PATH has none; ours does not stand in for it.
  expect(await findClaude({ environment: { HOME } })).toBe(local)
})

test('the release inside the Agent SDK can be found without a PATH', async () => {
  const found = await findClaude({ environment: {} })
  // A machine with Claude Code in one of the usual places finds that one first.
  const isInstalled = !found.includes('node_modules')
  if (!isInstalled) expect(found).toBe(claudeBinary())
  expect(await claudeVersion(found, { PATH: '/usr/bin:/bin', HOME: folder })).toMatch(/^\d+\.\d+\.\d+/)
})

test('the version is asked once, until the file changes', async () => {
  const asked = path.join(folder, 'asked')
  const binary = program('claude', `echo x >> '${asked}'; echo '2.1.400 (Claude Code)'`)
  const env = { PATH: '/usr/bin:/bin' }
  expect(await claudeVersion(binary, env)).toBe('2.1.400')
  expect(await claudeVersion(binary, env)).toBe('2.1.400')
  expect(readFileSync(asked, 'utf8')).toBe('x\n')
  utimesSync(binary, 1, 1)
  await claudeVersion(binary, env)
  expect(readFileSync(asked, 'utf8')).toBe('x\nx\n')
})

test.each(['echo 10.8.2', 'echo "codex-cli 0.166.0"', 'exit 1', 'echo "2.1.400 (Claude Code)" >&2'])(
  'a program that says otherwise has no version: %s',
  async source => {
    expect(await claudeVersion(program('other', source), { PATH: '/usr/bin:/bin' })).toBeUndefined()
  },
)

test.each([
  ['2.1.197', false],
  ['2.1.324', false],
  ['2.1.325', true],
  ['2.1.326-beta.1', true],
  ['2.2.0', true],
  ['3.0.0', true],
  ['1.9.999', false],
  [undefined, false],
])('release %s takes the snapshot flag: %s', (version, knows) => {
  expect(knowsSystemPromptSnapshot(version)).toBe(knows)
})
