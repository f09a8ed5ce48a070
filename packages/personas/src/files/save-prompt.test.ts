import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { savePrompt } from './save-prompt.ts'

const project = useProject()
const SECRET = 'a prompt that quotes private files'
const modeOf = (...parts: string[]) => (statSync(project.path(...parts)).mode & 0o777).toString(8)

test('the prompt is there, for its owner alone, and out of git', async () => {
  const file = await savePrompt(project.root, 'S-1_a', 'prompt ñ\n')
  expect(file).toBe(project.path('.chirality', 'prompts', 'S-1_a-system.txt'))
  expect(readFileSync(file, 'utf8')).toBe('prompt ñ\n')
  expect(readFileSync(project.path('.chirality', '.gitignore'), 'utf8')).toBe('*\n')
  expect(modeOf('.chirality')).toBe('700')
  expect(modeOf('.chirality', 'prompts')).toBe('700')
  expect(modeOf('.chirality', 'prompts', 'S-1_a-system.txt')).toBe('600')
})

test('the next turn replaces it, and nothing else stays behind', async () => {
  await savePrompt(project.root, 's', 'one, which is longer')
  await savePrompt(project.root, 's', 'two')
  expect(readdirSync(project.path('.chirality', 'prompts'))).toEqual(['s-system.txt'])
  expect(readFileSync(project.path('.chirality', 'prompts', 's-system.txt'), 'utf8')).toBe('two')
})

test('a reader sees one whole prompt while others are written', async () => {
  const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(50_000))
  await savePrompt(project.root, 's', texts[0] ?? '')
  const file = project.path('.chirality', 'prompts', 's-system.txt')
  const writing = Promise.all(texts.map(text => savePrompt(project.root, 's', text)))
  let isWriting = true
  void writing.then(() => {
    isWriting = false
  })
  while (isWriting) {
    expect(texts.includes(readFileSync(file, 'utf8'))).toBe(true)
    await new Promise(setImmediate)
  }
  await writing
  expect(readdirSync(path.dirname(file))).toEqual(['s-system.txt'])
})

test('folders that others may enter are closed, and a .gitignore that is there stays', async () => {
  mkdirSync(project.path('.chirality', 'prompts'), { recursive: true })
  writeFileSync(project.path('.chirality', '.gitignore'), '# mine\n')
  chmodSync(project.path('.chirality'), 0o755)
  chmodSync(project.path('.chirality', 'prompts'), 0o777)
  await savePrompt(project.root, 's', 'x')
  expect([modeOf('.chirality'), modeOf('.chirality', 'prompts')]).toEqual(['700', '700'])
  expect(readFileSync(project.path('.chirality', '.gitignore'), 'utf8')).toBe('# mine\n')
})

describe('an id that is not one', () => {
  test.each(['', '../x', 'a/b', '..', 'a.b', 'a\0b', 'ñ', 'x'.repeat(65), 'a b', 'a\n'])('%j', async id => {
    await expect(savePrompt(project.root, id, 'x')).rejects.toMatchObject({
      name: 'PersonaError',
      code: 'persona-invalid-id',
    })
    expect(existsSync(project.path('.chirality'))).toBe(false)
  })
})

describe('links are not written through', () => {
  test.each(['.chirality', '.chirality/prompts'])('%s', async folder => {
    project.link(folder, project.outside)
    await expect(savePrompt(project.root, 's', 'x')).rejects.toMatchObject({
      code: 'persona-unsafe',
      message: expect.stringContaining('is a symbolic link. Remove it'),
    })
    expect(readdirSync(project.outside)).toEqual([])
  })

  test('the file itself: the link is replaced, what it pointed at stays', async () => {
    const victim = path.join(project.outside, 'bashrc')
    writeFileSync(victim, 'precious')
    project.link('.chirality/prompts/s-system.txt', victim)
    const file = await savePrompt(project.root, 's', 'x')
    expect(readFileSync(victim, 'utf8')).toBe('precious')
    expect(lstatSync(file).isFile()).toBe(true)
  })

  test('.gitignore', async () => {
    const victim = path.join(project.outside, 'new-file')
    project.link('.chirality/.gitignore', victim)
    await savePrompt(project.root, 's', 'x')
    expect(existsSync(victim)).toBe(false)
  })
})

test('a folder that turns into a link and back takes no prompt out of the project', async () => {
  const prompts = project.path('.chirality', 'prompts')
  await savePrompt(project.root, 's', 'x')
  renameSync(prompts, project.path('real'))
  project.link('a-link', project.outside)
  let isDone = false
  const swap = async () => {
    while (!isDone) {
      for (const name of ['real', 'a-link']) {
        moveOver(project.path(name), prompts)
        await new Promise(setImmediate)
        renameSync(prompts, project.path(name))
      }
    }
  }
  const swapping = swap()
  for (let i = 0; i < 100; i++) await savePrompt(project.root, 's', SECRET).catch(() => {})
  isDone = true
  await swapping
  const written = readdirSync(project.outside).map(name =>
    readFileSync(path.join(project.outside, name), 'utf8'),
  )
  // Only Linux can tell where an open file is before it is written to.
  if (process.platform === 'linux') expect(written.join('')).toBe('')
  else expect(written.every(text => text === '' || text === SECRET)).toBe(true)
})

describe('what stands in the way is named', () => {
  test('a file in the place of a folder', async () => {
    project.write({ '.chirality': 'x' })
    await expect(savePrompt(project.root, 's', 'x')).rejects.toMatchObject({
      code: 'persona-unsafe',
      file: project.path('.chirality'),
    })
  })

  test('a folder in the place of the file; the temporary file is gone', async () => {
    const file = project.path('.chirality', 'prompts', 's-system.txt')
    mkdirSync(path.join(file, 'full'), { recursive: true })
    await expect(savePrompt(project.root, 's', 'x')).rejects.toMatchObject({
      code: 'persona-not-writable',
      file,
    })
    expect(readdirSync(path.dirname(file))).toEqual(['s-system.txt'])
  })

  test('no project', async () => {
    rmSync(project.root, { recursive: true })
    await expect(savePrompt(project.root, 's', 'x')).rejects.toMatchObject({
      code: 'persona-project-missing',
    })
    writeFileSync(project.root, '')
    await expect(savePrompt(project.root, 's', 'x')).rejects.toMatchObject({
      code: 'persona-project-missing',
      message: expect.stringContaining('is a file'),
    })
    rmSync(project.root)
  })
})

/** Into a place where a prompt being saved may make a folder at any time. */
function moveOver(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      rmSync(to, { recursive: true, force: true })
      renameSync(from, to)
      return
    } catch (error) {
      if (attempt === 1000) throw error
    }
  }
}
