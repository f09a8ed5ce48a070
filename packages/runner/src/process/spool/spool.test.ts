import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { openSpool, type SpoolOptions } from './spool.ts'
import { SpoolError } from './spool-error.ts'

const project = useProject()

const open = (changes: Partial<SpoolOptions> = {}) =>
  openSpool({
    projectRoot: project.root,
    harness: 'claude-code',
    sessionId: 'session-1',
    turnId: 'turn-1',
    at: new Date('2026-02-07T10:11:12.345Z'),
    ...changes,
  })

async function failure(changes: Partial<SpoolOptions> = {}): Promise<SpoolError> {
  const error: unknown = await open(changes).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SpoolError)
  return error as SpoolError
}

describe('the files', () => {
  test('are named after time, session and turn, beside each other', async () => {
    const spool = await open()
    const base = join(project.root, '.chirality/logs/claude-code/20260207T101112345Z-session-1-turn-1')
    expect(spool.path).toBe(`${base}.ndjson`)
    expect(spool.stderrPath).toBe(`${base}.stderr`)
    await spool.discard()
  })

  test('can be read only by their owner', async () => {
    const spool = await open()
    const mode = (path: string) => statSync(join(project.root, path)).mode & 0o777
    expect(mode('.chirality')).toBe(0o700)
    expect(mode('.chirality/logs')).toBe(0o700)
    expect(mode('.chirality/logs/claude-code')).toBe(0o700)
    expect(statSync(spool.path).mode & 0o777).toBe(0o600)
    expect(statSync(spool.stderrPath).mode & 0o777).toBe(0o600)
    await spool.discard()
  })

  test('stay out of commits and packages', async () => {
    await (await open()).discard()
    expect(readFileSync(join(project.root, '.chirality/.gitignore'), 'utf8')).toBe('*\n')
  })

  test('leave a .gitignore of the user alone', async () => {
    mkdirSync(join(project.root, '.chirality'), { mode: 0o700 })
    writeFileSync(join(project.root, '.chirality/.gitignore'), 'logs\n')
    await (await open()).discard()
    expect(readFileSync(join(project.root, '.chirality/.gitignore'), 'utf8')).toBe('logs\n')
  })

  test('close a folder that others could enter', async () => {
    mkdirSync(join(project.root, '.chirality'))
    chmodSync(join(project.root, '.chirality'), 0o755)
    await (await open()).discard()
    expect(statSync(join(project.root, '.chirality')).mode & 0o777).toBe(0o700)
  })

  test('never reuse a name', async () => {
    const first = await open()
    writeSync(first.stdout.writeFd, 'first')
    const second = await open()
    expect(second.path).toContain('20260207T101112346Z-session-1-turn-1')
    await first.close()
    await second.discard()
    expect(readFileSync(first.path, 'utf8')).toBe('first')
  })

  test('a stderr file that is there already moves both names on', async () => {
    const first = await open()
    const directory = join(project.root, '.chirality/logs/claude-code')
    await first.discard()
    writeFileSync(first.stderrPath, 'kept')
    const second = await open()
    await second.discard()
    expect(readdirSync(directory)).toEqual(['20260207T101112345Z-session-1-turn-1.stderr'])
    expect(readFileSync(first.stderrPath, 'utf8')).toBe('kept')
  })

  test.each([
    ['../../../etc', '_________etc'],
    ['a/b\0c', 'a_b_c'],
    ['', '_'],
    ['é😀', '___'],
    ['x'.repeat(300), 'x'.repeat(64)],
  ])('an id of %j becomes %j', async (id, part) => {
    const spool = await open({ harness: id, sessionId: id, turnId: id })
    expect(spool.path).toBe(
      join(project.root, '.chirality/logs', part, `20260207T101112345Z-${part}-${part}.ndjson`),
    )
    await spool.discard()
  })

  test('an empty stderr file goes at the end, a written one stays', async () => {
    const silent = await open()
    await silent.close()
    expect([existsSync(silent.path), existsSync(silent.stderrPath)]).toEqual([true, false])
    const loud = await open()
    writeSync(loud.stderr.writeFd, 'oh\n')
    await loud.close()
    expect(readFileSync(loud.stderrPath, 'utf8')).toBe('oh\n')
  })

  test('a deleted log is written again, also one of many buffers', async () => {
    const spool = await open()
    const text = 'line\n'.repeat(200_000)
    writeFileSync(spool.stdout.writeFd, text)
    rmSync(join(project.root, '.chirality'), { recursive: true })
    await spool.close()
    expect(readFileSync(spool.path, 'utf8') === text).toBe(true)
  })
})

describe('a project that cannot be used', () => {
  test('is missing', async () => {
    const projectRoot = join(project.root, 'nowhere')
    const error = await failure({ projectRoot })
    expect(error.code).toBe('project-missing')
    expect(error.message).toBe(
      `The project folder ${projectRoot} does not exist. Create it or choose another one.`,
    )
    expect(existsSync(projectRoot)).toBe(false)
  })

  test('is a file', async () => {
    const projectRoot = join(project.root, 'file')
    writeFileSync(projectRoot, '')
    expect(await failure({ projectRoot })).toMatchObject({ code: 'project-not-a-directory' })
    expect(await failure({ projectRoot: join(projectRoot, 'below') })).toMatchObject({
      code: 'project-missing',
    })
  })

  test('is read-only', async () => {
    chmodSync(project.root, 0o555)
    const error = await asOrdinaryUser(project.root, failure)
    chmodSync(project.root, 0o755)
    expect(error.code).toBe('not-writable')
    expect(error.message).toContain('make the folder writable')
  })
})

describe('a hostile project', () => {
  const outside = () => mkdtempSync(join(tmpdir(), 'chirality-outside-'))

  test.each(['.chirality', '.chirality/logs', '.chirality/logs/claude-code'])(
    'with a symlink at %s is refused, and nothing is written there',
    async path => {
      const target = outside()
      mkdirSync(join(project.root, path, '..'), { recursive: true })
      symlinkSync(target, join(project.root, path))
      expect(await failure()).toMatchObject({
        code: 'unsafe',
        message: expect.stringContaining('symbolic link'),
      })
      expect(readdirSync(target)).toEqual([])
      rmSync(target, { recursive: true })
    },
  )

  test('with a dangling symlink is refused', async () => {
    symlinkSync(join(project.root, 'nowhere'), join(project.root, '.chirality'))
    expect(await failure()).toMatchObject({ code: 'unsafe' })
    expect(existsSync(join(project.root, 'nowhere'))).toBe(false)
  })

  test('with a symlink in the place of a log gets the next name', async () => {
    const target = outside()
    const first = await open()
    await first.discard()
    symlinkSync(join(target, 'stolen'), first.path)
    const second = await open()
    expect(second.path).not.toBe(first.path)
    await second.discard()
    expect(readdirSync(target)).toEqual([])
    rmSync(target, { recursive: true })
  })

  test('with a symlink as .gitignore keeps its target as it is', async () => {
    const target = outside()
    mkdirSync(join(project.root, '.chirality'))
    symlinkSync(join(target, 'file'), join(project.root, '.chirality/.gitignore'))
    await (await open()).discard()
    expect(readdirSync(target)).toEqual([])
    rmSync(target, { recursive: true })
  })

  test('with a file at .chirality is refused', async () => {
    writeFileSync(join(project.root, '.chirality'), '')
    expect(await failure()).toMatchObject({
      code: 'unsafe',
      message: expect.stringContaining('not a folder'),
    })
  })

  test('a project folder that is itself reached by a symlink is fine', async () => {
    const link = join(project.root, 'link')
    mkdirSync(join(project.root, 'real'))
    symlinkSync(join(project.root, 'real'), link)
    const spool = await open({ projectRoot: link })
    expect(existsSync(join(project.root, 'real/.chirality/logs/claude-code'))).toBe(true)
    await spool.discard()
  })
})

/** Root can write everywhere, so a test of permissions switches to another user for a moment. */
async function asOrdinaryUser<T>(folder: string, action: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0 || process.seteuid === undefined) return action()
  const nobody = 65534
  chownSync(folder, nobody, nobody)
  process.seteuid(nobody)
  try {
    return await action()
  } finally {
    process.seteuid(0)
  }
}
