import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allowsPath, type CallPath, findsPath, type PathPlace } from './match-path.ts'

const place: PathPlace = {
  root: '/home/me/project',
  project: '/home/me/project',
  home: '/home/me',
  realPath: path => path,
}
const at = (lexical: string, real = lexical): CallPath => ({ written: lexical, lexical, real })
const allows = (pattern: string, path: CallPath, changes = true) =>
  allowsPath(pattern, path, { ...place, changes })

describe('allow', () => {
  test.each([
    ['src/**', '/home/me/project/src/a/b.ts'],
    ['src/*.ts', '/home/me/project/src/a.ts'],
    ['./src/*', '/home/me/project/src/a.ts'],
    ['src/', '/home/me/project/src/a/b.ts'],
    ['*.md', '/home/me/project/docs/deep/a.md'],
    ['*', '/home/me/project/a'],
    ['**', '/home/me/project/a/b/c'],
    ['src/**/test/*.ts', '/home/me/project/src/test/a.ts'],
    ['src/**/test/*.ts', '/home/me/project/src/x/y/test/a.ts'],
    ['/tmp/out/**', '/tmp/out/a'],
    ['//tmp/out/**', '/tmp/out/a'],
    ['~/notes/*', '/home/me/notes/a'],
    ['../sibling/*', '/home/me/sibling/a'],
    ['.git/hooks/*', '/home/me/project/.git/hooks/x'],
  ])('%j covers %j', (pattern, path) => {
    // A pattern that leads out of the project has to begin at the root.
    expect(allows(pattern, at(path))).toBe(!pattern.startsWith('..'))
  })

  test.each([
    ['src/**', '/home/me/project/lib/a.ts'],
    ['src/**', '/home/me/project/srcs/a.ts'],
    ['src/*', '/home/me/project/src/a/b.ts'],
    ['*.md', '/etc/a.md'],
    ['**', '/etc/passwd'],
    ['*', '/home/me/project-evil/a'],
    ['src', '/home/me/project/src/a'],
    ['SRC/**', '/home/me/project/src/a'],
    ['/tmp/out/**', '/tmp/outside/a'],
    ['/tmp/out/*', '/tmp/out/../../etc/passwd'],
    ['**', '/home/me/project/.git/hooks/pre-commit'],
    ['**', '/home/me/project/.GIT/hooks/pre-commit'],
    ['**', '/home/me/project/sub/.git/config'],
    ['*', '/home/me/project/.claude/settings.json'],
    ['**', '/home/me/project/.chirality/policy'],
    ['**', '/home/me/project/.mcp.json'],
    ['agents/*', '/home/me/project/agents/AGENT_DEV.md'],
    ['~/**', '/home/me/.bashrc'],
    ['~/**', '/home/me/.local/share/chirality/policies/global.policy'],
  ])('%j does not cover a change of %j', (pattern, path) => {
    expect(allows(pattern, at(path))).toBe(false)
  })

  test('a protected file may be read', () => {
    expect(allows('**', at('/home/me/project/.git/config'), false)).toBe(true)
  })

  test('is matched against the resolved path', () => {
    expect(allows('src/**', at('/home/me/project/src/a', '/etc/passwd'))).toBe(false)
    expect(allows('/tmp/**', at('/tmp/a', '/private/tmp/a'))).toBe(false)
  })

  test('a project inside a protected folder is protected all the same', () => {
    const inside = { ...place, root: '/home/me/.claude/project', changes: true }
    expect(allowsPath('**', at('/home/me/.claude/project/a'), inside)).toBe(true)
    expect(allowsPath('**', at('/home/me/.claude/project/.claude/settings.json'), inside)).toBe(false)
  })
})

describe('deny', () => {
  test.each([
    ['/etc/**', '/etc/passwd'],
    ['/etc', '/etc/passwd'],
    ['/etc/', '/etc/passwd'],
    ['/ETC/**', '/etc/passwd'],
    ['/etc/**', '/Etc/Passwd'],
    ['.env', '/home/me/project/.env'],
    ['.env', '/home/me/project/deep/.env'],
    ['.env', '/somewhere/else/.env'],
    ['.env', '/home/me/project/.ENV'],
    ['*.pem', '/home/me/.ssh/key.pem'],
    ['secrets', '/home/me/project/a/secrets/b/c'],
    ['secrets/**', '/home/me/project/secrets/b'],
    ['~/.ssh/**', '/home/me/.ssh/id'],
    ['**/x/**', '/a/b/x/c'],
    ['café', '/a/cafe\u0301'],
  ])('%j finds %j', (pattern, path) => {
    expect(findsPath(pattern, at(path), place)).toBe(true)
    expect(findsPath(pattern, at('/other', path), place)).toBe(true)
    expect(findsPath(pattern, at(path, '/other'), place)).toBe(true)
  })

  test.each([
    ['/etc/**', '/etcetera/x'],
    ['/etc/**', '/home/me/project/etc/x'],
    ['.env', '/home/me/project/.envrc'],
    ['secrets/**', '/other/secrets/b'],
    ['*.pem', '/a/b.pem.txt'],
  ])('%j does not find %j', (pattern, path) => {
    expect(findsPath(pattern, at(path), place)).toBe(false)
  })

  test('follows the links in a pattern', () => {
    const linked = { ...place, realPath: (path: string) => path.replace(/^\/etc/, '/private/etc') }
    expect(findsPath('/etc/**', at('/private/etc/hosts'), linked)).toBe(true)
    expect(findsPath('/etc/*.conf', at('/private/etc/a.conf'), linked)).toBe(true)
  })
})

test('a path that an allow pattern covers is also matched by it as a deny pattern', () => {
  const name = fc.constantFrom('a', 'b', 'src', '.env', 'x.ts')
  const segment = fc.constantFrom('a', 'src', '*', '**', '*.ts', '.env')
  const path = fc
    .array(name, { minLength: 1, maxLength: 4 })
    .map(names => `/home/me/project/${names.join('/')}`)
  const pattern = fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('/'))
  fc.assert(
    fc.property(pattern, path, (glob, file) => {
      if (allows(glob, at(file))) expect(findsPath(glob, at(file), place)).toBe(true)
    }),
  )
})
