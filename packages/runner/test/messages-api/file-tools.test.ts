import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { useTools } from './support/tools.ts'

const world = useTools()

describe('read', () => {
  test('gives numbered lines, and any part of them', async () => {
    put('a.txt', Array.from({ length: 10 }, (_, index) => `line ${index + 1}`).join('\r\n'))
    expect(await read({ offset: 3, limit: 2 })).toBe(
      '     3\tline 3\n     4\tline 4\n[More may follow. Go on with offset 5.]',
    )
    expect(await read({ offset: 10 })).toBe('    10\tline 10')
    expect(await read({ offset: 11 })).toContain('only 10 lines')
  })

  test('is bounded in lines, in a line, and in all', async () => {
    put('a.txt', `${'x'.repeat(5_000_000)}\nshort\n`)
    const content = await read()
    expect(content).toContain('[line of 5000000 characters, cut]')
    expect(content.length).toBeLessThan(3000)
    put('a.txt', 'y\n'.repeat(100_000))
    expect((await read()).split('\n')).toHaveLength(2001)
    put('a.txt', `${'z'.repeat(1999)}\n`.repeat(20_000))
    expect((await read({ limit: 20_000 })).length).toBeLessThan(300_000)
  })

  test.each<[string, string | Buffer, string]>([
    ['an empty file', '', 'is empty'],
    ['a binary file', Buffer.from([1, 0, 2]), 'binary file of 3 bytes'],
    ['no newline at the end', 'only', '     1\tonly'],
    ['letters across a chunk', `${'a'.repeat(65_535)}é`, '[line of 65536'],
  ])('%s', async (_what, bytes, expected) => {
    put('a.txt', bytes)
    expect(await read()).toContain(expected)
  })

  test.each([
    [{ file_path: 'a.txt', offset: 0 }],
    [{ file_path: 'a.txt', limit: 1.5 }],
    [{ file_path: 7 }],
    [{}],
    [{ file_path: 'a.txt', also: 1 }],
  ])('an input that does not fit the schema is told: %j', async input => {
    expect(await world.call('read', input)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/Invalid input|Too small|Unrecognized key/),
    })
  })

  async function read(input: Record<string, unknown> = {}): Promise<string> {
    return (await world.call('read', { file_path: 'a.txt', ...input })).content
  }
})

describe('write', () => {
  test('makes folders, tells what changed, keeps the mode and leaves no other file', async () => {
    const created = await world.call('write', { file_path: 'new/deep/a.sh', content: 'one\ntwo\n' })
    expect(created).toMatchObject({
      content: 'Created new/deep/a.sh (2 lines).',
      detail: { type: 'create', structuredPatch: [{ oldLines: 0, newStart: 1, lines: ['+one', '+two'] }] },
    })
    const file = path.join(world.project, 'new/deep/a.sh')
    chmodSync(file, 0o751)
    const updated = await world.call('write', { file_path: file, content: 'one\n2\n' })
    expect(updated.detail).toMatchObject({
      type: 'update',
      structuredPatch: [{ lines: [' one', '-two', '+2'] }],
    })
    expect(statSync(file).mode & 0o777).toBe(0o751)
    expect(readdirSync(path.dirname(file))).toEqual(['a.sh'])
  })

  test('refuses content above the size limit', async () => {
    const result = await world.call('write', { file_path: 'a', content: 'x'.repeat(11 * 1024 * 1024) })
    expect(result).toMatchObject({ isError: true })
    expect(readdirSync(world.project)).toEqual([])
  })
})

describe('edit', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['once', { old_string: 'two', new_string: '2' }, 'one\n2\nthree\n', 'Changed one place in a.txt.'],
    [
      'no pattern',
      { old_string: 'two', new_string: '$& $1 \\n' },
      'one\n$& $1 \\n\nthree\n',
      'Changed one place in a.txt.',
    ],
    [
      'all',
      { old_string: 'e', new_string: 'E', replace_all: true },
      'onE\ntwo\nthrEE\n',
      'Changed 3 places in a.txt.',
    ],
    ['twice is too often', { old_string: 'e', new_string: 'E' }, TEXT(), 'old_string is 3 times'],
    ['not there', { old_string: 'four', new_string: 'x' }, TEXT(), 'is not in a.txt'],
    ['the same', { old_string: 'one', new_string: 'one' }, TEXT(), 'are the same'],
    ['nothing for something', { old_string: '', new_string: 'x' }, TEXT(), 'old_string: Too small'],
  ])('%s', async (_what, input, after, said) => {
    put('a.txt', TEXT())
    const { content } = await world.call('edit', { file_path: 'a.txt', ...input })
    expect(content).toContain(said)
    expect(readFileSync(path.join(world.project, 'a.txt'), 'utf8')).toBe(after)
  })

  test('the patch has the lines around, and where they are', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`)
    put('a.txt', `${lines.join('\n')}\n`)
    const { detail } = await world.call('edit', {
      file_path: 'a.txt',
      old_string: 'line 10\n',
      new_string: 'ten\nTEN\n',
    })
    expect(detail).toMatchObject({
      structuredPatch: [
        {
          oldStart: 7,
          oldLines: 7,
          newStart: 7,
          newLines: 8,
          lines: [
            ' line 7',
            ' line 8',
            ' line 9',
            '-line 10',
            '+ten',
            '+TEN',
            ' line 11',
            ' line 12',
            ' line 13',
          ],
        },
      ],
    })
  })

  test('bytes that are no text stay as they are, a mark at the beginning too', async () => {
    put('a.txt', Buffer.from([0xff, 0x61]))
    expect(await world.call('edit', { file_path: 'a.txt', old_string: 'a', new_string: 'b' })).toMatchObject({
      isError: true,
      content: expect.stringContaining('not UTF-8'),
    })
    put('b.txt', '\uFEFFa\r\nb\r\n')
    await world.call('edit', { file_path: 'b.txt', old_string: 'b', new_string: 'c' })
    expect(readFileSync(path.join(world.project, 'b.txt'), 'utf8')).toBe('\uFEFFa\r\nc\r\n')
  })
})

describe('looking around', () => {
  test('glob finds by pattern and leaves out what nobody wrote', async () => {
    for (const file of [
      'a.ts',
      'src/b.ts',
      'src/deep/c.ts',
      'src/c.js',
      'node_modules/x/d.ts',
      '.git/e.ts',
      '.chirality/f.ts',
    ])
      put(file, '')
    expect((await world.call('glob', { pattern: '**/*.ts' })).content.split('\n')).toEqual([
      'a.ts',
      'src/b.ts',
      'src/deep/c.ts',
    ])
    expect((await world.call('glob', { pattern: '*.{js,ts}', path: 'src' })).content.split('\n')).toEqual([
      'src/b.ts',
      'src/c.js',
    ])
    expect((await world.call('glob', { pattern: '*.py' })).content).toBe('No file fits.')
  })

  test('grep finds lines, files, and ends in time with any pattern', async () => {
    put('a.txt', 'Hello there\nnothing\nhello again\n')
    put('src/b.ts', 'say hello\n')
    put('c.bin', Buffer.from('hello\0'))
    const grep = async (input: Record<string, unknown>) => (await world.call('grep', input)).content
    expect(await grep({ pattern: 'h[e]llo' })).toBe('a.txt:3:hello again\nsrc/b.ts:1:say hello')
    expect(await grep({ pattern: 'hello', ignore_case: true, path: 'a.txt' })).toBe(
      'a.txt:1:Hello there\na.txt:3:hello again',
    )
    expect(await grep({ pattern: 'hello', output_mode: 'files_with_matches', glob: '*.ts' })).toBe('src/b.ts')
    expect(await grep({ pattern: 'hello', limit: 1 })).toContain('There may be more')
    expect(await grep({ pattern: '(' })).toContain('not a valid regular expression')
    put('slow.txt', `${'a'.repeat(50)}!\n`)
    expect(await grep({ pattern: '^(a+)+$', path: 'slow.txt' })).toContain('too slow for slow.txt')
  })

  test('list shows the type of each entry', async () => {
    put('a.txt', '')
    mkdirSync(path.join(world.project, 'folder'))
    expect((await world.call('list', {})).content).toBe('a.txt\nfolder/')
    expect((await world.call('list', { path: 'folder' })).content).toBe('folder is empty.')
    expect(await world.call('list', { path: 'a.txt' })).toMatchObject({ isError: true })
  })
})

function TEXT(): string {
  return 'one\ntwo\nthree\n'
}

function put(name: string, content: string | Buffer): void {
  const file = path.join(world.project, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, content)
}
