import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { ODD_FILES, putOddFile } from '@chirality/fixtures'
import { afterAll, expect, test } from 'vitest'
import { callRisks } from './always-rule.ts'

const root = mkdtempSync(path.join(tmpdir(), 'chirality-risks-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
mkdirSync(path.join(root, '.git'))
writeFileSync(
  path.join(root, '.git', 'config'),
  '[remote "origin"]\n\turl = git@git.example.org:team/a.git\n[remote "b"]\n\turl = https://me@code.example.org/b.git\n',
)
symlinkSync(homedir(), path.join(root, 'home'))

const kinds = (toolName: string, input: Record<string, unknown>) =>
  callRisks({ kind: 'tool', toolName, input }, { projectRoot: root }).map(({ kind }) => kind)

test.each([
  ['Read', { file_path: '.env' }, ['credentials']],
  ['Edit', { file_path: path.join(homedir(), '.ssh', 'config') }, ['credentials']],
  ['Read', { file_path: 'home/.ssh/id_rsa' }, ['credentials']],
  ['Read', { file_path: 'src/env.ts' }, []],
  ['bash', { command: 'rm -rf dist' }, ['delete']],
  ['command', { command: "/bin/bash -lc 'sudo ls'" }, ['root']],
  ['Bash', { command: 'curl https://git.example.org/x' }, []],
  ['Bash', { command: 'git fetch https://code.example.org/b.git' }, []],
  ['Bash', { command: 'curl https://other.example/x' }, ['network']],
  ['mcp__shop__refund', { command: 'rm -rf /' }, []],
])('%s with %j has the risks %j', (toolName, input, expected) => {
  expect(kinds(toolName, input)).toEqual(expected)
})

test('a recursive delete says whether it leads out of the project, links followed', () => {
  const words = (command: string) =>
    callRisks({ kind: 'tool', toolName: 'Bash', input: { command } }, { projectRoot: root })[0]?.words
  expect(words('rm -rf dist')).not.toContain('outside')
  for (const target of ['/etc', '~/x', '../other', '$HOME', 'home/x'])
    expect(words(`rm -rf ${target}`)).toContain('outside the project')
})

test('a question and a plan have no risks', () => {
  expect(
    callRisks({ kind: 'plan', toolName: 'Bash', input: { command: 'rm -rf /' } }, { projectRoot: root }),
  ).toEqual([])
})

test.each(Object.keys(ODD_FILES))(
  'a configuration of git that is %s names no host, and is not waited for',
  kind => {
    const config = path.join(root, '.git', 'config')
    const before = readFileSync(config)
    try {
      putOddFile(kind, config)
      expect(kinds('Bash', { command: 'curl https://git.example.org/x' })).toEqual(['network'])
    } finally {
      rmSync(config, { recursive: true, force: true })
      writeFileSync(config, before)
    }
  },
)
