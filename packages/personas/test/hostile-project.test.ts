import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type PersonaErrorCode, PersonaManager } from '../src/index.ts'
import { useProject } from './support/project.ts'

const project = useProject()
const SECRET = 'the private key'

beforeEach(() => {
  project.write({ 'agents/AGENT_GOOD.md': 'I am fine.' })
  writeFileSync(path.join(project.outside, 'secret'), SECRET)
  writeFileSync(path.join(project.outside, 'AGENT_EVIL.md'), SECRET)
})

describe('a file that is no persona is listed with its error, and the others still work', () => {
  interface Case {
    make: () => void
    code: PersonaErrorCode
    error: string
    line?: number
  }
  const put = (content: string | Uint8Array) => () => project.write({ 'agents/AGENT_BAD.md': content })
  const link = (target: string) => () => project.link('agents/AGENT_BAD.md', target)
  const cases: Record<string, Case> = {
    'bad YAML': {
      make: put('---\na: 1\nb: [\n---\nx'),
      code: 'persona-invalid-file',
      error: 'not valid YAML',
      line: 3,
    },
    'wrong type': {
      make: put('---\nmax_turns: x\n---\nx'),
      code: 'persona-invalid-file',
      error: 'whole number',
      line: 2,
    },
    'unknown key': {
      make: put('---\nTools: x\n---\nx'),
      code: 'persona-invalid-file',
      error: '"tools"?',
      line: 2,
    },
    'duplicate key': {
      make: put('---\r\ntools: a\r\ntools: b\r\n---\r\nx'),
      code: 'persona-invalid-file',
      error: 'second time',
      line: 3,
    },
    'not closed': {
      make: put('\uFEFF---\ntools: [Read]\n'),
      code: 'persona-invalid-file',
      error: 'not closed',
      line: 1,
    },
    'a wider permission mode than a file may ask for': {
      make: put('---\npermission_mode: bypassPermissions\n---\nx'),
      code: 'persona-invalid-file',
      error: 'cannot take all checks away',
      line: 2,
    },
    empty: { make: put(''), code: 'persona-invalid-file', error: 'is empty' },
    'not UTF-8': {
      make: put(Buffer.from('# Caf\u00e9\nr\u00e9sum\u00e9 \u00ff', 'latin1')),
      code: 'persona-not-text',
      error: 'not UTF-8',
      line: 1,
    },
    'not UTF-8 further down': {
      make: put(Buffer.concat([Buffer.from('# Café\n\n'), Buffer.from([0x61, 0xc3, 0x28])])),
      code: 'persona-not-text',
      error: 'not UTF-8',
      line: 3,
    },
    NUL: { make: put('one\ntwo\0\n'), code: 'persona-not-text', error: 'NUL', line: 2 },
    'UTF-16': {
      make: put(Buffer.from('\uFEFFtools', 'utf16le')),
      code: 'persona-not-text',
      error: 'NUL',
      line: 1,
    },
    '5 MB': { make: put('x'.repeat(5_000_000)), code: 'persona-too-large', error: 'is 5000000 bytes long' },
    'a byte too long': {
      make: put('x'.repeat(256 * 1024 + 1)),
      code: 'persona-too-large',
      error: '262144 are the most',
    },
    'a folder': {
      make: () => mkdirSync(project.path('agents/AGENT_BAD.md')),
      code: 'persona-wrong-kind',
      error: 'is a folder',
    },
    'a FIFO': {
      make: () => execFileSync('mkfifo', [project.path('agents/AGENT_BAD.md')]),
      code: 'persona-wrong-kind',
      error: 'not a regular file',
    },
    'a socket': {
      make: () => {
        const server = createServer().listen(project.path('agents/AGENT_BAD.md'))
        onTestFinished(() => void server.close())
      },
      code: 'persona-wrong-kind',
      error: 'not a regular file',
    },
    'a link to a file outside': {
      make: () => link(path.join(project.outside, 'secret'))(),
      code: 'persona-unsafe',
      error: 'is a symbolic link out of the project',
    },
    'a relative link to a file outside': {
      make: link('../../outside/secret'),
      code: 'persona-unsafe',
      error: 'is a symbolic link out of the project',
    },
    'a link to a device': {
      make: link('/dev/zero'),
      code: 'persona-unsafe',
      error: 'is a symbolic link out of the project',
    },
    'a link to a neighbour whose name begins the same': {
      make: () => {
        mkdirSync(`${project.root}-evil`)
        writeFileSync(`${project.root}-evil/x`, SECRET)
        link('../../project-evil/x')()
      },
      code: 'persona-unsafe',
      error: 'is a symbolic link out of the project',
    },
    'a link to nothing': {
      make: link('nowhere'),
      code: 'persona-unsafe',
      error: 'is a symbolic link to a file that does not exist',
    },
    'a link to itself': {
      make: link('AGENT_BAD.md'),
      code: 'persona-unsafe',
      error: 'is a symbolic link to itself',
    },
  }

  test.each(Object.entries(cases))('%s', async (_what, { make, code, error, line }) => {
    make()
    const personas = new PersonaManager()
    for (let round = 0; round < 2; round++) {
      const entries = await personas.listAll(project.root)
      expect(entries).toEqual([
        expect.objectContaining({ kind: 'broken', id: 'BAD', sourceFile: 'agents/AGENT_BAD.md', line }),
        expect.objectContaining({ kind: 'persona', persona: expect.objectContaining({ id: 'GOOD' }) }),
      ])
      expect(entries[0]).toHaveProperty('error', expect.stringContaining(error))
      expect(JSON.stringify(entries)).not.toContain(SECRET)
    }
    expect((await personas.list(project.root)).map(({ id }) => id)).toEqual(['GOOD'])
    await expect(personas.load(project.root, 'BAD')).rejects.toMatchObject({
      name: 'PersonaError',
      code,
      line,
      file: 'agents/AGENT_BAD.md',
      message: expect.stringContaining(error),
    })
    expect((await personas.load(project.root, 'GOOD'))?.id).toBe('GOOD')
  })

  test('its instructions are not used by a prompt either', async () => {
    project.link('agents/AGENT_BAD.md', path.join(project.outside, 'secret'))
    const persona = { id: 'BAD', sourceFile: 'agents/AGENT_BAD.md' }
    await expect(
      new PersonaManager().buildSystemPrompt(project.root, persona, 'direct'),
    ).rejects.toMatchObject({
      code: 'persona-unsafe',
    })
  })
})

describe('a file that is a persona', () => {
  test('may begin with a byte order mark and have CRLF line breaks', async () => {
    project.write({ 'agents/AGENT_DOS.md': '\uFEFF---\r\ntools: Read, Grep\r\n---\r\nWork.\r\n' })
    const personas = new PersonaManager()
    const persona = await personas.load(project.root, 'DOS')
    expect(persona?.allowedTools).toEqual(['Read', 'Grep'])
    expect(await personas.buildSystemPrompt(project.root, persona, 'direct')).not.toContain('\uFEFF')
  })

  test('may be as long as the limit', async () => {
    project.write({ 'agents/AGENT_LONG.md': 'x'.repeat(256 * 1024) })
    expect(await new PersonaManager().load(project.root, 'LONG')).not.toBeNull()
  })

  test('may be a link, and lie in a linked folder, as long as both stay in the project', async () => {
    project.write({ 'docs/agents/real.md': 'real text' })
    project.link('docs/agents/AGENT_LINKED.md', 'real.md')
    renameSync(project.path('agents'), project.path('old'))
    project.link('agents', 'docs/agents')
    const personas = new PersonaManager()
    const [persona] = await personas.list(project.root)
    expect(persona?.id).toBe('LINKED')
    expect(await personas.buildSystemPrompt(project.root, persona ?? null, 'direct')).toContain('real text')
  })

  test('is found in a project that was reached by a link', async () => {
    const link = path.join(project.outside, 'link-to-project')
    symlinkSync(project.root, link)
    expect((await new PersonaManager().list(link)).map(({ id }) => id)).toEqual(['GOOD'])
  })
})

describe('an agents folder that is none', () => {
  beforeEach(() => renameSync(project.path('agents'), project.path('old')))

  test.each<[string, () => void, PersonaErrorCode, string]>([
    ['a file', () => project.write({ agents: 'x' }), 'persona-wrong-kind', 'is a file'],
    [
      'a link out of the project',
      () => project.link('agents', project.outside),
      'persona-unsafe',
      'is a symbolic link out of the project',
    ],
    [
      'a link to itself',
      () => project.link('agents', 'agents'),
      'persona-unsafe',
      'is a symbolic link to itself',
    ],
    [
      'a link to nothing',
      () => project.link('agents', 'nowhere'),
      'persona-unsafe',
      'is a symbolic link to a file that does not exist',
    ],
  ])('%s', async (_what, make, code, error) => {
    make()
    const personas = new PersonaManager()
    expect(await personas.listAll(project.root)).toEqual([
      {
        kind: 'broken',
        id: '',
        sourceFile: 'agents',
        error: expect.stringContaining(error),
        problems: [{ message: expect.stringContaining(error) }],
      },
    ])
    expect(await personas.list(project.root)).toEqual([])
    await expect(personas.load(project.root, 'EVIL')).rejects.toMatchObject({ code, file: 'agents' })
  })
})

describe('a README.md that cannot be used is left out, and that is said', () => {
  const compose = () => new PersonaManager().composePrompt(project.root, null, 'direct')

  test.each<[string, () => void, string]>([
    [
      'a link out of the project',
      () => project.link('README.md', path.join(project.outside, 'secret')),
      'README.md: is a symbolic link out of the project',
    ],
    ['a folder', () => mkdirSync(project.path('README.md')), 'README.md: is a folder'],
    ['a FIFO', () => execFileSync('mkfifo', [project.path('README.md')]), 'README.md: is not a regular file'],
    ['binary', () => project.write({ 'README.md': 'a\0b' }), 'README.md: is not text'],
  ])('%s', async (_what, make, warning) => {
    make()
    project.write({ 'AGENTS.md': 'conventions' })
    const { text, warnings } = await compose()
    expect(warnings).toEqual([expect.stringContaining(warning)])
    expect(warnings[0]).toContain('left out of the prompt')
    expect(text).toContain('conventions')
    expect(text).not.toMatch(/README|private key/)
  })

  test('some bytes that are not UTF-8 cost only themselves', async () => {
    project.write({ 'README.md': Buffer.from('Caf\u00e9 au lait', 'latin1') })
    const { text, warnings } = await compose()
    expect(text).toContain('Caf\uFFFD au lait')
    expect(warnings).toEqual([expect.stringContaining('README.md: is not UTF-8')])
  })

  test('an empty one is no news', async () => {
    project.write({ 'README.md': ' \n' })
    expect(await compose()).toMatchObject({ warnings: [], text: expect.not.stringContaining('README') })
  })

  test('one that links to another file of the project is fine', async () => {
    project.write({ 'docs/intro.md': 'introduction' })
    project.link('README.md', 'docs/intro.md')
    expect(await compose()).toMatchObject({ warnings: [], text: expect.stringContaining('introduction') })
  })
})

test('a folder that turns into a link and back never shows what lies outside', async () => {
  renameSync(project.path('agents'), project.path('real'))
  project.write({ 'real/AGENT_EVIL.md': 'harmless' })
  project.link('a-link', project.outside)
  const personas = new PersonaManager()
  let isDone = false
  const swap = async () => {
    while (!isDone) {
      for (const folder of ['real', 'a-link']) {
        renameSync(project.path(folder), project.path('agents'))
        await new Promise(setImmediate)
        renameSync(project.path('agents'), project.path(folder))
      }
    }
  }
  const swapping = swap()
  const persona = { id: 'EVIL', sourceFile: 'agents/AGENT_EVIL.md' }
  const seen = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const text = await personas.buildSystemPrompt(project.root, persona, 'direct').catch(String)
    seen.add(text.includes(SECRET) ? 'outside' : 'inside or refused')
  }
  isDone = true
  await swapping
  // Only Linux can tell where an open file is; elsewhere a process that swaps folders this fast may win.
  if (process.platform === 'linux') expect([...seen]).toEqual(['inside or refused'])
  else expect(seen).toContain('inside or refused')
})
