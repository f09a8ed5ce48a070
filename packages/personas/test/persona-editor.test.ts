import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PersonaManager } from '../src/index.ts'
import { useProject } from './support/project.ts'

const project = useProject()
const personas = new PersonaManager()
const FILE = 'agents/AGENT_REVIEWER.md'
const TEXT = '---\n# what it may use\ntools: Read, Grep\n---\nReview.\n'

async function readRevision(id = 'REVIEWER'): Promise<string> {
  const source = await personas.source(project.root, id)
  if (source === null) throw new Error(`no ${id}`)
  return source.revision
}

test('a new persona is written, listed and read back with its comments', async () => {
  const saved = await personas.save(project.root, 'REVIEWER', TEXT, null)
  expect(saved).toEqual({ kind: 'done', revision: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(readFileSync(project.path(FILE), 'utf8')).toBe(TEXT)
  expect(await personas.source(project.root, 'REVIEWER')).toEqual({
    text: TEXT,
    revision: await readRevision(),
  })
  expect(await personas.list(project.root)).toMatchObject([
    { id: 'REVIEWER', allowedTools: ['Read', 'Grep'] },
  ])
  expect(readdirSync(project.path('agents'))).toEqual(['AGENT_REVIEWER.md'])
})

test('a file that changed after it was read is not overwritten, and the other text comes back', async () => {
  project.write({ [FILE]: TEXT })
  const revision = await readRevision()
  project.write({ [FILE]: `${TEXT}From elsewhere.\n` })
  const saved = await personas.save(project.root, 'REVIEWER', `${TEXT}Mine.\n`, revision)
  expect(saved).toEqual({
    kind: 'conflict',
    current: { text: `${TEXT}From elsewhere.\n`, revision: await readRevision() },
  })
  expect(readFileSync(project.path(FILE), 'utf8')).toBe(`${TEXT}From elsewhere.\n`)
  expect(await personas.remove(project.root, 'REVIEWER', revision)).toMatchObject({ kind: 'conflict' })

  const agreed = await personas.save(project.root, 'REVIEWER', `${TEXT}Mine.\n`, await readRevision())
  expect(agreed.kind).toBe('done')
  expect(readFileSync(project.path(FILE), 'utf8')).toBe(`${TEXT}Mine.\n`)
})

test('a file that is new to the editor is not overwritten, and one that is gone is not brought back', async () => {
  project.write({ [FILE]: TEXT })
  expect(await personas.save(project.root, 'REVIEWER', 'Mine.\n', null)).toMatchObject({ kind: 'conflict' })
  const revision = await readRevision()
  expect(await personas.remove(project.root, 'REVIEWER', revision)).toEqual({ kind: 'done', revision: null })
  expect(await personas.save(project.root, 'REVIEWER', 'Mine.\n', revision)).toEqual({
    kind: 'conflict',
    current: null,
  })
  expect(readdirSync(project.path('agents'))).toEqual([])
})

test('the mode of the file and its byte order mark stay', async () => {
  project.write({ [FILE]: `\uFEFF${TEXT}` })
  chmodSync(project.path(FILE), 0o640)
  const change = await personas.save(project.root, 'REVIEWER', `${TEXT}More.\n`, await readRevision())
  expect(readFileSync(project.path(FILE), 'utf8')).toBe(`\uFEFF${TEXT}More.\n`)
  expect(statSync(project.path(FILE)).mode & 0o777).toBe(0o640)
  expect(change).toEqual({ kind: 'done', revision: await readRevision() })
})

test.each(['../x', '..', '', 'a/b', 'a\0b', 'x'.repeat(65), 'AGENT.md'])(
  '%j is no name of a persona',
  async id => {
    for (const tried of [
      personas.source(project.root, id),
      personas.check(project.root, id, 'Work.', 'direct'),
      personas.save(project.root, id, 'Work.', null),
      personas.remove(project.root, id, 'f'.repeat(64)),
    ])
      await expect(tried).rejects.toMatchObject({ code: 'persona-invalid-id' })
    expect(readdirSync(project.root)).toEqual([])
  },
)

test('a link in the place of the file is neither written through nor replaced', async () => {
  project.write({ 'notes.md': 'Notes.\n' })
  project.link(FILE, '../notes.md')
  const { revision } = (await personas.source(project.root, 'REVIEWER')) ?? { revision: '' }
  const saving = personas.save(project.root, 'REVIEWER', 'Mine.\n', revision)
  await expect(saving).rejects.toMatchObject({ code: 'persona-unsafe' })
  await expect(personas.remove(project.root, 'REVIEWER', revision)).rejects.toMatchObject({
    code: 'persona-unsafe',
  })
  expect(lstatSync(project.path(FILE)).isSymbolicLink()).toBe(true)
  expect(readFileSync(project.path('notes.md'), 'utf8')).toBe('Notes.\n')
})

test('a folder of personas that leads out of the project is not written into', async () => {
  symlinkSync(project.outside, project.path('agents'))
  const saving = personas.save(project.root, 'REVIEWER', 'Mine.\n', null)
  await expect(saving).rejects.toMatchObject({ code: 'persona-unsafe' })
  expect(readdirSync(project.outside)).toEqual([])
})

test('a text that is no persona, too long or no text is not written', async () => {
  const save = (text: string) => personas.save(project.root, 'REVIEWER', text, null)
  await expect(save('---\ntool: Read\n---\nWork.\n')).rejects.toMatchObject({
    code: 'persona-invalid-file',
    line: 2,
  })
  await expect(save('x'.repeat(256 * 1024 + 1))).rejects.toMatchObject({ code: 'persona-too-large' })
  await expect(save('Work.\0')).rejects.toMatchObject({ code: 'persona-not-text' })
  expect(readdirSync(project.root)).toEqual([])
})

test('a name that differs from another only in capitals is refused', async () => {
  project.write({ 'agents/AGENT_Reviewer.md': TEXT })
  const saving = personas.save(project.root, 'REVIEWER', TEXT, null)
  await expect(saving).rejects.toThrow('differs from AGENT_Reviewer.md only in capitals')
})

test('a draft is checked by the parser of the files, and told as an agent would be', async () => {
  project.write({ [FILE]: TEXT, 'README.md': 'A tool that ties knots.\n' })
  const good = await personas.check(
    project.root,
    'REVIEWER',
    '---\nmax_turns: 3\n---\nKnots only.\n',
    'pipeline',
  )
  expect(good).toMatchObject({ persona: { id: 'REVIEWER', maxTurns: 3 }, problems: [], warnings: [] })
  expect(good.prompt.text).toContain('Knots only.')
  expect(good.prompt.text).toContain('ties knots')
  const bad = await personas.check(
    project.root,
    'REVIEWER',
    '---\ntools: Read\nmax_turn: 3\n---\nWork.\n',
    'pipeline',
  )
  expect(bad.persona).toBeNull()
  expect(bad.problems).toEqual([{ line: 3, message: expect.stringContaining('max_turn') }])
  expect(readFileSync(project.path(FILE), 'utf8')).toBe(TEXT)
})

test('the text of a broken persona can be read, to mend it', async () => {
  project.write({ [FILE]: '---\ntool: Read\n---\n' })
  expect(await personas.source(project.root, 'REVIEWER')).toMatchObject({ text: '---\ntool: Read\n---\n' })
  expect(await personas.source(project.root, 'NOBODY')).toBeNull()
})
