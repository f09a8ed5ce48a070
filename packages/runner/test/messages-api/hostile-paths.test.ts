import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { PinnedDirectory } from '../../src/messages-api/tools/files/pinned-directory.ts'
import { useTools } from './support/tools.ts'

const world = useTools()

/** Each makes its trap in the project and says how the model would name it. */
const TRAPS: [string, () => string][] = [
  ['dots', () => '../outside/secret.txt'],
  ['dots in the middle', () => 'a/b/../../../outside/secret.txt'],
  ['an absolute path', () => path.join(world.outside, 'secret.txt')],
  ['a path that only begins like the project', () => `${world.project}-other/secret.txt`],
  ['a link to a file', () => link('link.txt', path.join(world.outside, 'secret.txt'))],
  ['a link to a folder on the way', () => `${link('folder', world.outside)}/secret.txt`],
  [
    'a link to a link',
    () => link('second', path.join(world.project, link('first', path.join(world.outside, 'secret.txt')))),
  ],
  ['a relative link', () => link('relative', '../outside/secret.txt')],
  ['a link to nowhere outside', () => link('nowhere', path.join(world.outside, 'not-yet.txt'))],
  ['a circle of links', () => link('circle', path.join(world.project, 'circle'))],
  ['NUL', () => 'a.txt\0.png'],
  ['nothing', () => ''],
  ['a path beyond all limits', () => 'x/'.repeat(5000)],
  ['/proc', () => '/proc/self/environ'],
  ['/proc through a link', () => link('environ', '/proc/self/environ')],
  ['an open file of ours', () => '/proc/self/fd/0'],
  ['a device', () => '/dev/zero'],
  ['a device through a link', () => link('zero', '/dev/zero')],
  ['the home folder of the shell', () => '~/../../../../etc/passwd'],
  ['a pipe', () => pipe('pipe')],
  ['a pipe through a link', () => link('to-pipe', path.join(world.project, pipe('pipe')))],
  ['a folder', () => folder('folder')],
]

describe.each([
  ['read', {}],
  ['write', { content: 'evil' }],
  ['edit', { old_string: 'secret', new_string: 'evil' }],
] as const)('%s', (tool, input) => {
  test.each(TRAPS)('refuses %s', async (_what, trap) => {
    const secret = path.join(world.outside, 'secret.txt')
    writeFileSync(secret, 'secret')
    mkdirSync(path.join(world.project, 'a', 'b'), { recursive: true })
    const result = await world.call(tool, { file_path: trap(), ...input })
    expect(result.isError, result.content).toBe(true)
    expect(result.content).not.toContain('root:')
    expect(readFileSync(secret, 'utf8')).toBe('secret')
    expect(existsSync(path.join(world.outside, 'not-yet.txt'))).toBe(false)
  })
})

describe.each([
  ['glob', { pattern: '**' }],
  ['grep', { pattern: 'secret' }],
  ['list', {}],
] as const)('%s', (tool, input) => {
  test.each(['../outside', '/etc', '/proc/self', '.\0', 'folder', '/dev'])(
    'does not look into %j',
    async given => {
      writeFileSync(path.join(world.outside, 'secret.txt'), 'secret')
      link('folder', world.outside)
      const result = await world.call(tool, { ...input, path: given })
      expect(result).toMatchObject({ isError: true })
      expect(result.content).not.toContain('secret.txt')
    },
  )

  test('follows no link, and does not hang at a pipe or a socket', async () => {
    writeFileSync(path.join(world.outside, 'secret.txt'), 'secret')
    writeFileSync(path.join(world.project, 'mine.txt'), 'secret of mine')
    link('folder', world.outside)
    link('file.txt', path.join(world.outside, 'secret.txt'))
    pipe('pipe.txt')
    const server = createServer().listen(path.join(world.project, 's.txt'))
    try {
      const { content } = await world.call(tool, input)
      expect(content).toContain('mine.txt')
      expect(content).not.toContain('secret.txt')
    } finally {
      await new Promise(resolve => server.close(resolve))
    }
  })
})

test('a folder that is replaced by a link between the check and the use is noticed', async () => {
  writeFileSync(path.join(world.outside, 'secret.txt'), 'secret')
  link('swapped', world.outside)
  const swapped = path.join(world.project, 'swapped')
  await expect(PinnedDirectory.open(swapped)).rejects.toThrow()
  mkdirSync(path.join(world.outside, 'inner'))
  await expect(PinnedDirectory.open(path.join(swapped, 'inner'))).rejects.toThrow('was replaced')
})

test('a folder that is held open is the same one, whatever takes its place', async () => {
  const real = path.join(world.project, 'real')
  mkdirSync(real)
  writeFileSync(path.join(real, 'secret.txt'), 'mine')
  writeFileSync(path.join(world.outside, 'secret.txt'), 'secret')
  const directory = await PinnedDirectory.open(real)
  try {
    renameSync(real, `${real}-moved`)
    symlinkSync(world.outside, real)
    const read = async () => {
      const file = await directory.openFile('secret.txt')
      const text = await file.readFile('utf8')
      await file.close()
      return text
    }
    // Where folders cannot be reached through an open file it is noticed instead.
    expect(await read().catch(() => 'refused')).toBe(process.platform === 'linux' ? 'mine' : 'refused')
  } finally {
    await directory.close()
  }
})

test('a link inside the project is followed, and stays a link when its file is written', async () => {
  writeFileSync(path.join(world.project, 'real.txt'), 'one')
  link('alias.txt', path.join(world.project, 'real.txt'))
  expect((await world.call('read', { file_path: 'alias.txt' })).content).toContain('one')
  expect(await world.call('write', { file_path: 'alias.txt', content: 'two' })).not.toMatchObject({
    isError: true,
  })
  expect(readFileSync(path.join(world.project, 'real.txt'), 'utf8')).toBe('two')
})

test('a second name of a file outside keeps its content', async () => {
  const secret = path.join(world.outside, 'secret.txt')
  writeFileSync(secret, 'secret')
  linkSync(secret, path.join(world.project, 'hard.txt'))
  await world.call('write', { file_path: 'hard.txt', content: 'evil' })
  expect(readFileSync(secret, 'utf8')).toBe('secret')
})

test('our own records cannot be rewritten, by whatever path', async () => {
  mkdirSync(path.join(world.project, '.chirality'))
  link('records', path.join(world.project, '.chirality'))
  for (const file_path of ['.chirality/x', './a/../.chirality/x', 'records/x']) {
    expect(await world.call('write', { file_path, content: 'evil' })).toMatchObject({ isError: true })
  }
})

function link(name: string, target: string): string {
  symlinkSync(target, path.join(world.project, name))
  return name
}

function pipe(name: string): string {
  execFileSync('mkfifo', [path.join(world.project, name)])
  return name
}

function folder(name: string): string {
  mkdirSync(path.join(world.project, name))
  return name
}
