import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { claudeSessionFile, noteClaudeSession } from './project-state.ts'

const project = useProject()
const json = (name: string) => JSON.parse(readFileSync(project.file('state', name), 'utf8'))

test('the last session of a role is stored beside those of the others', async () => {
  expect(await claudeSessionFile.read(project.root)).toEqual({ updated_at: null })
  await noteClaudeSession(project.root, 'planner', 'n1')
  await noteClaudeSession(project.root, 'coder', 'n2')
  expect(json('claude-session.json')).toEqual({
    planner_session_id: 'n1',
    coder_session_id: 'n2',
    updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(await claudeSessionFile.read(project.root)).toEqual(json('claude-session.json'))
})

test('a note for a project that is gone rejects and does not throw: other writes run beside it', async () => {
  const noting = noteClaudeSession(`${project.root}/gone`, 'coder', 'n1')
  await expect(noting).rejects.toThrow('gone')
})

test('two programs that note roles at the same time lose none of them', async () => {
  // A second copy of the module shares no state with the first, as in another process.
  vi.resetModules()
  const other = await import('./project-state.ts')
  expect(other.noteClaudeSession).not.toBe(noteClaudeSession)
  const roles = Array.from({ length: 20 }, (_, index) => `role${index}`)
  await Promise.all(
    roles.map((role, index) => {
      const { noteClaudeSession: note } = index % 2 === 0 ? other : { noteClaudeSession }
      return note(project.root, role, 'n')
    }),
  )
  const noted = Object.keys(json('claude-session.json')).filter(name => name !== 'updated_at')
  expect(noted.sort()).toEqual(roles.map(role => `${role}_session_id`).sort())
  expect(readdirSync(project.file('state'))).toEqual(['claude-session.json'])
})

test.each(['', '{', '{"updated_at":7}', '[]', 'null'])('a file that holds %j is kept aside', async text => {
  await noteClaudeSession(project.root, 'coder', 'n1')
  writeFileSync(project.file('state/claude-session.json'), text)
  expect(await claudeSessionFile.read(project.root)).toEqual({ updated_at: null })
  const [kept] = readdirSync(project.file('state'))
  expect(kept).toMatch(/^claude-session\.json\.corrupt-/)
  expect(readFileSync(project.file('state', kept ?? ''), 'utf8')).toBe(text)
})

test('a symlink is neither read nor written through', async () => {
  await noteClaudeSession(project.root, 'coder', 'n1')
  const target = `${project.root}/target`
  const text = '{"coder_session_id":"other","updated_at":null}'
  writeFileSync(target, text)
  const path = project.file('state/claude-session.json')
  rmSync(path)
  symlinkSync(target, path)
  expect(await claudeSessionFile.read(project.root)).toEqual({ updated_at: null })
  await noteClaudeSession(project.root, 'coder', 'n2')
  expect(readFileSync(target, 'utf8')).toBe(text)
})

test('a project without state has none made by reading', async () => {
  await claudeSessionFile.read(project.root)
  expect(readdirSync(project.root)).toEqual([])
})
