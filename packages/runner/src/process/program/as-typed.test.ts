import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { asTyped } from './as-typed.ts'

const project = useProject()

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
