import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { commandRisks } from '../src/rules/command-risks.ts'

const risks = (command: string) =>
  commandRisks(command, {
    isOutside: (path: string) => /^[/~]|^\.\.|\$/.test(path),
    knownHosts: new Set(['git.example.org']),
  })
const kinds = (command: string) => risks(command).map(risk => risk.kind)
const words = (command: string) =>
  risks(command)
    .map(risk => risk.words)
    .join(' ')

/** One command in a line, with `\n` for a new line in it. `# delete` says what the commands below it do. */
function table(name: string): { kind: string; command: string }[] {
  let kind = ''
  return readFileSync(path.join(import.meta.dirname, 'support', 'commands', name), 'utf8')
    .split('\n')
    .filter(Boolean)
    .flatMap(line => {
      kind = /^# (\w+)$/.exec(line)?.[1] ?? kind
      return line === `# ${kind}`
        ? []
        : [{ kind, command: line.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter)) }]
    })
}

test('the relatives of dangerous commands are found, by whatever they are run', () => {
  const rows = table('dangerous.txt')
  expect(rows.length).toBeGreaterThan(700)
  expect(rows.filter(({ kind, command }) => !(kinds(command) as string[]).includes(kind))).toEqual([])
})

test('their harmless neighbours are not', () => {
  const rows = table('harmless.txt')
  expect(rows.length).toBeGreaterThan(400)
  expect(rows.flatMap(({ command }) => risks(command).map(risk => ({ command, ...risk })))).toEqual([])
})

test('a command that works outside of the project is not said to be brought back', () => {
  for (const command of [
    'cd ../other && git checkout -- .',
    'cd "/srv/a b"; rm -rf dist',
    'git -C ~/x reset --hard',
    'git --work-tree=/srv/x checkout -f',
    'pushd /tmp/x && git clean -fdx',
    'ssh host rm -rf dist',
    'docker exec db rm -rf data',
    'docker compose exec -T web rm -rf data',
    'kubectl exec pod -- rm -rf data',
  ]) {
    expect(words(command), command).toContain('brings nothing back there')
    expect(words(command), command).not.toContain('restores the files here')
  }
  expect(words('cd sub && git checkout -- .')).toContain('restores the files here')
  expect(words('git -C sub checkout -- .')).toContain('restores the files here')
})

test('the part is as it was written, also with text in it that looks like commands', () => {
  expect(risks(`git -C 'a (b); c' reset --hard && echo "x; y"`)[0]?.part).toBe(
    "git -C 'a (b); c' reset --hard",
  )
})

test('a long command of one piece after the other is looked at in linear time', () => {
  for (const piece of [
    '-',
    'git-',
    '| python',
    'echo x > a;',
    'git -C {} ',
    'x(){x|x',
    'system "',
    '{a,',
    'a{b,c}d ',
    '/*',
  ])
    expect(() => risks(piece.repeat(60_000 / piece.length)), piece).not.toThrow()
})

test('a repository that is deleted is not said to come back', () => {
  for (const command of [
    'rm -rf .git',
    'rm -r sub/.git/refs',
    'find . -name .git -exec rm -rf {} +',
    'mv .git /tmp',
  ])
    expect(words(command), command).toMatch(/restores.* no (?:commits|branches)/)
  expect(words('rm -rf .chirality')).toContain('does not restore them')
  for (const command of ['rm -rf .git', 'rm -rf .chirality'])
    expect(words(command), command).not.toContain('restores the files here that git does not ignore')
})
