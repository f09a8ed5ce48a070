import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { HELP, helpOf } from '../src/help.ts'
import { BIN, createWorld } from './support/world.ts'

test('without a command the help goes to stderr, with 2', async () => {
  const { run } = await createWorld()
  expect(await run([])).toEqual({ code: 2, signal: null, stdout: '', stderr: HELP })
})

test.each([['--help'], ['-h'], ['help']])('the help for %s goes to stdout', async (...args) => {
  const { run } = await createWorld()
  expect(await run(args)).toEqual({ code: 0, signal: null, stdout: HELP, stderr: '' })
})

test.each([
  ['run', '--help'],
  ['run', 'x', '-h'],
  ['conformance', '--help'],
])('the help for %s %s is about that command', async (...args) => {
  const { run } = await createWorld()
  const stdout = helpOf(args[0] ?? '')
  expect(await run(args)).toEqual({ code: 0, signal: null, stdout, stderr: '' })
  expect(stdout).toContain(`\n  ${args[0]}`)
  expect(stdout.length).toBeLessThan(HELP.length / 3)
  expect(stdout).not.toContain('\n  doctor')
})

test('--version says the version of the package', async () => {
  const { run } = await createWorld()
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  expect(await run(['--version'])).toEqual({ code: 0, signal: null, stdout: `${version}\n`, stderr: '' })
})

test.each([
  ['runn', ' Did you mean "run"?'],
  ['docter', ' Did you mean "doctor"?'],
  ['session', ' Did you mean "sessions"?'],
  ['toString', ''],
  ['', ''],
])('an unknown command %j is refused', async (name, hint) => {
  const { run } = await createWorld()
  const stderr = `chirality: Unknown command "${name}".${hint}\nSee \`chirality --help\`.\n`
  expect(await run([name])).toEqual({ code: 2, signal: null, stdout: '', stderr })
})

test('escape sequences in an argument or a folder name do not reach the terminal', async () => {
  const { run, project } = await createWorld()
  const name = 'x\u001b]0;title\u0007\u001b[2J\u202ey'
  const folder = path.join(project, name)
  mkdirSync(folder)
  const commands: [string[], string][] = [
    [[name], project],
    [['sessions', 'list', '--project', folder], project],
    [['personas', 'list'], folder],
    [['run', 'Hi', '--project', path.join(folder, 'missing')], project],
  ]
  for (const [args, cwd] of commands) {
    const { stdout, stderr } = await run(args, { cwd })
    expect(stderr).toContain('xy')
    for (const harmful of ['\u001b', '\u0007', '\u202e']) expect(stdout + stderr).not.toContain(harmful)
  }
})

test.each(['run', 'doctor', 'sessions', 'translate'])('%s does not load the scripted model', name => {
  const imports = importsOf(new URL(`../src/commands/${name}.ts`, import.meta.url))
  expect(imports.filter(specifier => specifier.startsWith('@chirality/'))).not.toEqual([])
  expect(imports).not.toContain('@chirality/scripted-model')
})

/** The packages that a file of ours needs at run time, with those of the files it imports. */
function importsOf(file: URL, seen = new Set<string>()): string[] {
  if (seen.has(file.href)) return []
  seen.add(file.href)
  const source = readFileSync(file, 'utf8')
  const specifiers = [
    ...source.matchAll(/^(?:import(?! type)|\} from|export(?! type)) .*?'([^']+)'/gm),
  ].flatMap(match => match[1] ?? [])
  return specifiers.flatMap(specifier =>
    specifier.startsWith('.') ? importsOf(new URL(specifier, file), seen) : [specifier],
  )
}

test('a turn loads no code that only exports, imports and other agents need', () => {
  const dist = fileURLToPath(new URL('../dist/', import.meta.url))
  const loaded = new Map<string, string>()
  const load = (file: string) => {
    if (loaded.has(file)) return
    const text = readFileSync(file, 'utf8')
    loaded.set(file, text)
    for (const [, name = ''] of text.matchAll(/(?:^|;)import(?:\{[^}]*\}from)?"(\.[^"]+)"/g))
      load(path.resolve(path.dirname(file), name))
  }
  load(path.join(dist, 'main.js'))
  // The rest is imported by the command that was asked for.
  expect([...loaded.keys()]).toEqual([path.join(dist, 'main.js')])
  load(path.join(dist, 'run', 'run.js'))
  const code = [...loaded.values()].join('\n')
  // The agents are loaded by their descriptors: each when it is wanted.
  expect(code).toContain('SessionHost=class')
  for (const name of [
    'MessagesApiHarness',
    'AgentSdkHarness',
    'exportSession',
    'searchSessions',
    'rehearsePolicy',
  ])
    expect(code, name).not.toMatch(new RegExp(`(?:class|function\\*?) ${name}\\b|\\b${name}=class`))
  // A schema library is larger than all that a turn needs. The client of a server is loaded when there is one, and React never.
  expect(code).not.toMatch(/\bZodType\b|TRPCClientError|react\.element/)
})

test.each([24, 32])('a server that may open %i files only is refused in one sentence', async limit => {
  const { env, project } = await createWorld()
  const start = `ulimit -n ${limit} && exec "$0" "$@"`
  const args = ['-c', start, process.execPath, BIN, 'serve', '--port', '0']
  const { status, stdout, stderr } = spawnSync('/bin/sh', args, { cwd: project, env, encoding: 'utf8' })
  const sentence =
    'chirality: Too many open files. Raise the limit, for example with `ulimit -n 1024`, and start it again.\n'
  expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: sentence })
})
