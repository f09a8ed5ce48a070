import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { claudeBinaries } from '@chirality/fixtures'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CLAUDE_CODE } from '../config.ts'
import { ClaudeFeatures, claudeFeatures, usageFailure } from './features.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'chirality-features-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const ENV = { PATH: '/usr/bin:/bin' }
const HELP = new URL('../../../test/claude-code/help/', import.meta.url)
const release = (version: string) =>
  new ClaudeFeatures(version, readFileSync(new URL(`${version}.txt`, HELP), 'utf8'))

function program(source: string): string {
  const file = path.join(folder, 'claude')
  writeFileSync(file, `#!/bin/sh\n${source}\n`, { mode: 0o755 })
  return file
}

describe('features of a binary', () => {
  test('is asked once, until the file changes', async () => {
    const asked = path.join(folder, 'asked')
    const binary = program(`echo "$1" >> '${asked}'; echo '2.1.400 (Claude Code)'`)
    const first = await claudeFeatures(binary, ENV)
    expect(first.version).toBe('2.1.400')
    expect(await claudeFeatures(binary, ENV)).toBe(first)
    expect(readFileSync(asked, 'utf8')).toBe('--version\n--help\n')
    utimesSync(binary, 1, 1)
    expect(await claudeFeatures(binary, ENV)).not.toBe(first)
    expect(readFileSync(asked, 'utf8')).toBe('--version\n--help\n'.repeat(2))
  })

  test.each(['echo 10.8.2', 'echo "codex-cli 0.166.0"', 'exit 1', 'echo "2.1.400 (Claude Code)" >&2'])(
    'a program that says otherwise has no version, and is asked no more: %s',
    async source => {
      const asked = path.join(folder, 'asked')
      const features = await claudeFeatures(program(`echo "$1" >> '${asked}'\n${source}`), ENV)
      expect(features.version).toBeUndefined()
      expect(readFileSync(asked, 'utf8')).toBe('--version\n')
    },
  )

  test('an answer that did not come in time is not kept', async () => {
    const binary = program("echo '2.1.400 (Claude Code)'")
    expect((await claudeFeatures(binary, ENV, { signal: AbortSignal.abort() })).version).toBeUndefined()
    expect((await claudeFeatures(binary, ENV)).version).toBe('2.1.400')
  })

  describe('kept in a data folder', () => {
    const dataFolder = () => path.join(folder, 'data')
    const asked = () => path.join(folder, 'asked')
    const answering = (version: string) =>
      program(`echo "$1" >> '${asked()}'; echo '${version} (Claude Code)'; echo '  --telepathy'`)
    /** Like a new process, whose memory holds no cached answers. */
    const askAfresh = async (binary: string) => {
      vi.resetModules()
      const { claudeFeatures: fresh } = await import('./features.ts')
      return fresh(binary, ENV, { dataFolder: dataFolder() })
    }
    const keptFile = () => {
      const kept = path.join(dataFolder(), 'programs')
      return path.join(kept, readdirSync(kept)[0] ?? '')
    }

    test('it costs the next process nothing, through whichever link', async () => {
      const binary = answering('2.1.400')
      const first = await askAfresh(binary)
      symlinkSync(binary, path.join(folder, 'link'))
      for (const again of [binary, path.join(folder, 'link')]) {
        const features = await askAfresh(again)
        expect([features.version, features.knowsFlag('--telepathy')]).toEqual([first.version, true])
      }
      expect(readFileSync(asked(), 'utf8')).toBe('--version\n--help\n')
      expect(statSync(keptFile()).mode & 0o777).toBe(0o600)
    })

    test('another release in the same place, of the same size and time, is asked anew', async () => {
      const binary = answering('2.1.400')
      utimesSync(binary, 1, 1)
      expect((await askAfresh(binary)).version).toBe('2.1.400')
      answering('2.1.401')
      utimesSync(binary, 1, 1)
      expect((await askAfresh(binary)).version).toBe('2.1.401')
    })

    test.each([
      ['damaged', () => '{"key":'],
      ['empty', () => ''],
      ['no object', () => 'null'],
      [
        'of other shapes',
        (kept: string) => JSON.stringify({ ...JSON.parse(kept), words: { '--version': 1 } }),
      ],
      ['of another file', (kept: string) => JSON.stringify({ ...JSON.parse(kept), key: 'x' })],
      ['a day old', (kept: string) => JSON.stringify({ ...JSON.parse(kept), at: Date.now() - 86_400_000 })],
      ['from the future', (kept: string) => JSON.stringify({ ...JSON.parse(kept), at: Date.now() * 2 })],
    ])('a file that is %s counts as none', async (_name, damage) => {
      const binary = answering('2.1.400')
      await askAfresh(binary)
      writeFileSync(keptFile(), damage(readFileSync(keptFile(), 'utf8')))
      expect((await askAfresh(binary)).version).toBe('2.1.400')
      expect(readFileSync(asked(), 'utf8')).toBe('--version\n--help\n'.repeat(2))
    })

    test('nothing is kept of a program that is none, and a folder that cannot be written stops nothing', async () => {
      await askAfresh(program('echo 10.8.2'))
      expect(existsSync(dataFolder())).toBe(false)
      writeFileSync(dataFolder(), 'a file')
      expect((await askAfresh(answering('2.1.400'))).version).toBe('2.1.400')
    })
  })

  test.each(claudeBinaries())(
    '$version says what its captured help says',
    async ({ path: binary, version }) => {
      const asked = await claudeFeatures(binary, { ...ENV, HOME: folder, DISABLE_AUTOUPDATER: '1' })
      expect(asked.version).toBe(version)
      for (const flag of ['--system-prompt-snapshot', '--effort', '--tools', '--json-schema', '--telepathy'])
        expect([flag, asked.knowsFlag(flag)]).toEqual([flag, release(version).knowsFlag(flag)])
      expect(asked.hasAuthCommand).toBe(true)
    },
  )
})

test.each([
  {
    version: '2.0.44',
    snapshot: false,
    effort: false,
    tools: true,
    auth: false,
    context: false,
    hooks: false,
  },
  {
    version: '2.1.9',
    snapshot: false,
    effort: false,
    tools: true,
    auth: false,
    context: false,
    hooks: false,
  },
  { version: '2.1.86', snapshot: false, effort: true, tools: true, auth: true, context: true, hooks: false },
  { version: '2.1.197', snapshot: false, effort: true, tools: true, auth: true, context: true, hooks: false },
  { version: '2.1.268', snapshot: true, effort: true, tools: true, auth: true, context: true, hooks: false },
  { version: '2.1.325', snapshot: true, effort: true, tools: true, auth: true, context: true, hooks: true },
])('what $version can do', ({ version, ...expected }) => {
  const features = release(version)
  expect({
    snapshot: features.knowsFlag('--system-prompt-snapshot'),
    effort: features.knowsFlag('--effort'),
    tools: features.knowsFlag('--tools'),
    auth: features.hasAuthCommand,
    context: features.answers('get_context_usage'),
    hooks: features.blocksOnHookFailure,
  }).toEqual(expected)
  // The flag occurs only in the description of another flag, or as the beginning of a longer one.
  expect(features.knowsFlag('--system')).toBe(false)
  expect(features.knowsFlag('--max-turns')).toBe(true)
})

test('a refused request is not sent again', () => {
  const features = new ClaudeFeatures('2.1.325')
  expect(features.answers('get_context_usage')).toBe(true)
  features.refused('get_context_usage')
  expect(features.answers('get_context_usage')).toBe(false)
})

test.each([
  "error: unknown option '--tools'",
  "error: option '--permission-mode <mode>' argument 'dontAsk' is invalid. Allowed choices are plan.",
  "error: unexpected argument '--x' found",
])('the output "%s" is a usage failure, not a crash', said => {
  expect(usageFailure(`warning: x\n${said}\n`, CLAUDE_CODE)).toEqual({
    code: 'unsupported',
    error: expect.stringMatching(/^Claude Code does not take the command line.*Update it with `npm install/),
  })
})

test.each(['', 'error: EPIPE', 'fatal: unknown option'])('the output %j counts as a crash', said => {
  expect(usageFailure(said, CLAUDE_CODE)).toBeUndefined()
})
