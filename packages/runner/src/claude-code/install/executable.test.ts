import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { claudeBinary } from '@chirality/fixtures'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findClaude } from './executable.ts'

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

test('an explicit path is used, and no other place is searched', async () => {
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

test('the error names the harness, and how to install the program', async () => {
  const agent = { harnessId: 'agent-sdk', name: 'SDK', install: 'Install the SDK.' }
  const missing = findClaude({ binaryPath: path.join(folder, 'missing'), environment: {}, agent })
  await expect(missing).rejects.toMatchObject({
    harnessId: 'agent-sdk',
    instructions: expect.stringContaining('Install the SDK.'),
  })
})

test('then PATH, then the usual places of this HOME', async () => {
  const onPath = program('bin/claude')
  const local = program('home/.claude/local/claude')
  const HOME = path.join(folder, 'home')
  expect(await findClaude({ environment: { PATH: path.dirname(onPath), HOME } })).toBe(onPath)
  expect(await findClaude({ environment: { PATH: folder, HOME } })).toBe(local)
  // Without a PATH in the given environment, the PATH of this process must not be used.
  expect(await findClaude({ environment: { HOME } })).toBe(local)
})

test('the release inside the Agent SDK can be found without a PATH', async () => {
  const found = await findClaude({ environment: {} })
  // On a machine with Claude Code in a usual install folder, that one is found first.
  const isInstalled = !found.includes('node_modules')
  if (!isInstalled) expect(found).toBe(claudeBinary())
})
