import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { HELP } from '../src/help.ts'
import { BIN, createWorld } from './support/world.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('the example of the README does what the README shows', async () => {
  const { home, project, env } = await createWorld()
  const bin = path.join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(path.join(bin, 'chirality'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`)
  chmodSync(path.join(bin, 'chirality'), 0o755)
  const shell = spawn('/bin/sh', ['-eu'], {
    cwd: project,
    env: { ...env, PATH: `${bin}:${env.PATH}`, ANTHROPIC_BASE_URL: '', ANTHROPIC_API_KEY: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // The example leaves the model to end by itself; here the next check is that nothing is left.
  shell.stdin.end(`${block('sh')}\nwait\n`)
  let stdout = ''
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const [code] = await once(shell, 'close')

  expect(code).toBe(0)
  expect(withoutChance(stdout)).toBe(withoutChance(block('text')))
})

test('the README names every exit code that the help does, and no other', () => {
  const codes = [...README.matchAll(/^\| (\d+) +\|/gm)].map(match => match[1])
  expect(codes).toEqual(['0', '1', '2', '3', '4', '5', '130'])
  const help = HELP.slice(HELP.indexOf('Exit codes:'))
  expect([...help.matchAll(/\b(\d+) /g)].map(match => match[1])).toEqual(codes)
})

test('the README has every command of the help, and no other', () => {
  const commandsIn = (text: string, lines: RegExp) =>
    [...new Set([...text.matchAll(lines)].map(([, name = '']) => name))].sort()
  const rows = README.slice(README.indexOf('| command |'), README.indexOf('`chirality --help` lists'))
  const told = [...rows.matchAll(/^\| (.*?) \| /gm)].map(([, cell]) => cell).join('\n')
  expect(commandsIn(told, /`([a-z-]+)[^`]*`/g)).toEqual(commandsIn(HELP, /^ {2}([a-z][a-z-]+)/gm))
})

const ROOT = path.resolve(import.meta.dirname, '..', '..', '..')
const packages = ['packages', 'apps']
  .flatMap(group => readdirSync(path.join(ROOT, group)).map(name => path.join(group, name)))
  .filter(folder => existsSync(path.join(ROOT, folder, 'package.json')))
  .map(folder => {
    const text = readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8')
    const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> }
    return { folder, name: path.basename(folder), dependencies: Object.keys(dependencies) }
  })

test.each(packages)(
  'the README of $folder says what each of its dependencies is for',
  ({ folder, dependencies }) => {
    const readme = readFileSync(path.join(ROOT, folder, 'README.md'), 'utf8')
    const said = readme.slice(readme.indexOf('## Dependencies'))
    const isSaid = (name: string) =>
      [name, name.replace('@chirality/', '')].some(form => said.includes(`\`${form}\``))
    expect(dependencies.filter(name => !isSaid(name))).toEqual([])
  },
)

test('the table of packages in docs/architecture.md has the dependencies of their manifests', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'architecture.md'), 'utf8')
  const listed = packages.filter(({ folder }) => folder.startsWith('packages/'))
  for (const { folder, name, dependencies } of listed) {
    const row = page.split('\n').find(line => line.startsWith(`| [\`${name}\`](../${folder}) |`))
    const own = dependencies
      .filter(one => one.startsWith('@chirality/'))
      .map(one => one.slice('@chirality/'.length))
    const told = (row?.split(' | ').at(-1) ?? '').replace(/^nothing.*/, '').match(/[\w-]+/g) ?? []
    expect({ name, told }).toEqual({ name, told: own.sort() })
  }
})

test('every file that a page links to, or names by its path, is there', () => {
  const pages = ['', 'docs', 'fixtures', ...packages.map(({ folder }) => folder)].flatMap(folder =>
    readdirSync(path.join(ROOT, folder))
      .filter(name => name.endsWith('.md'))
      .map(name => path.join(folder, name)),
  )
  expect(pages.length).toBeGreaterThan(25)
  const missing = pages.flatMap(page => {
    const text = readFileSync(path.join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
    const here = path.join(ROOT, path.dirname(page))
    const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, to = '']) => to)
    // A path that is the text of a link is checked as its target.
    const named = [
      ...text.matchAll(/(?<!\[)`((?:src|test|packages|apps|fixtures|docs|\.scripts)\/[\w./-]+)`/g),
    ]
    const isThere = (file: string) => [here, ROOT].some(from => existsSync(path.join(from, file)))
    return [...links, ...named.map(([, file = '']) => file)]
      .filter(file => !isThere(file))
      .map(file => `${page}: ${file}`)
  })
  expect(missing).toEqual([])
})

function block(language: string): string {
  return README.match(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``))?.[1] ?? ''
}

/** Ids and seconds are never the same twice. */
function withoutChance(text: string): string {
  return text.replace(/session [0-9a-f-]{36}/, 'session ID').replace(/(\d+\.\d s|\d+ ms)$/m, 'N s')
}
