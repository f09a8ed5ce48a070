import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path, { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { asTyped, checkExecutable, notCounted, resolveExecutable } from './resolve-executable.ts'

const project = useProject()
const NAME = 'chirality-test-agent'

function install(folder: string, mode = 0o755): string {
  mkdirSync(join(project.root, folder), { recursive: true })
  const path = join(project.root, folder, NAME)
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, mode)
  return path
}

describe('resolveExecutable', () => {
  test('takes the first on PATH', async () => {
    install('second')
    const first = install('first')
    const path = `${project.root}/empty:${project.root}/first:${project.root}/second`
    expect(await resolveExecutable(NAME, [], { path })).toBe(first)
  })

  test('skips files that are not executable', async () => {
    install('plain', 0o644)
    mkdirSync(join(project.root, 'folder', NAME), { recursive: true })
    const good = install('good')
    const path = ['plain', 'folder', 'good'].map(name => join(project.root, name)).join(':')
    expect(await resolveExecutable(NAME, [], { path })).toBe(good)
  })

  test('looks in the extra folders after PATH', async () => {
    const extra = install('extra')
    expect(await resolveExecutable(NAME, [join(project.root, 'extra')], { path: '/nowhere' })).toBe(extra)
    const onPath = install('bin')
    const path = join(project.root, 'bin')
    expect(await resolveExecutable(NAME, [join(project.root, 'extra')], { path })).toBe(onPath)
  })

  test('never takes a program from the current folder', async () => {
    install('.')
    const before = process.cwd()
    process.chdir(project.root)
    try {
      expect(await resolveExecutable(NAME, ['', '.'], { path: '::.:./' })).toBeUndefined()
    } finally {
      process.chdir(before)
    }
  })

  test('keeps the name of a symlink, which may decide what the program does', async () => {
    install('real')
    mkdirSync(join(project.root, 'links'))
    symlinkSync(join(project.root, 'real', NAME), join(project.root, 'links', 'alias'))
    const path = join(project.root, 'links')
    expect(await resolveExecutable('alias', [], { path })).toBe(join(path, 'alias'))
  })

  test('returns a path unchanged', async () => {
    const path = install('bin')
    expect(await resolveExecutable(path)).toBe(path)
    expect(await resolveExecutable(join(project.root, 'nothing'))).toBeUndefined()
  })

  test('finds nothing under an empty or unknown name', async () => {
    expect(await resolveExecutable('')).toBeUndefined()
    expect(await resolveExecutable('chirality-no-such-program')).toBeUndefined()
  })

  test('finds sh on the real PATH', async () => {
    expect(await resolveExecutable('sh')).toMatch(/^\/.*\/sh$/)
  })
})

describe('checkExecutable', () => {
  test('says what is wrong and what to do', async () => {
    const missing = join(project.root, 'missing')
    expect(await checkExecutable(missing)).toEqual({
      ok: false,
      reason: 'missing',
      message: `${missing} does not exist. Install it or correct the path.`,
    })
    expect(await checkExecutable(project.root)).toMatchObject({ ok: false, reason: 'not-a-file' })
    const plain = install('plain', 0o644)
    expect(await checkExecutable(plain)).toEqual({
      ok: false,
      reason: 'not-executable',
      message: `${plain} is not executable. Run: chmod +x '${plain}'`,
    })
    expect(await checkExecutable(install('bin'))).toEqual({ ok: true })
  })
})

function program(name: string): void {
  writeFileSync(path.join(project.root, name), '')
  chmodSync(path.join(project.root, name), 0o755)
}

test('a name that a terminal finds is enough', async () => {
  program('agent')
  expect(await asTyped('agent', '/elsewhere/agent', `/nonexistent:${project.root}`)).toBe('agent')
})

test.each([
  ['/opt/agents/agent', '/opt/agents/agent'],
  ["/opt/my 'own'/agent", "'/opt/my '\\''own'\\''/agent'"],
])('one that it does not find is named by its path: %s', async (binary, typed) => {
  expect(await asTyped('agent', binary, project.root)).toBe(typed)
  expect(await asTyped('agent', binary)).toBe(typed)
})

test('a folder that depends on where one is does not count', async () => {
  program('agent')
  expect(await asTyped('agent', '/opt/agent', `:.:${path.relative('.', project.root)}`)).toBe('/opt/agent')
})

test('who set a variable where it does not count is told where it would', () => {
  vi.stubEnv('CHIRALITY_CLAUDE_BIN', '/somewhere/claude')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(notCounted('CHIRALITY_CLAUDE_BIN', {})).toMatch(/of this process does not count.*`binaryPath`/)
  expect(notCounted('CHIRALITY_CLAUDE_BIN', { CHIRALITY_CLAUDE_BIN: '/elsewhere/claude' })).toBe('')
  expect(notCounted('CHIRALITY_CODEX_BIN', {})).toBe('')
})
