import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HELP } from '../src/help.ts'
import { createWorld } from './support/world.ts'

test('without a command the help goes to stderr, with 2', async () => {
  const { run } = await createWorld()
  expect(await run([])).toEqual({ code: 2, signal: null, stdout: '', stderr: HELP })
})

test.each([
  ['--help'],
  ['-h'],
  ['help'],
  ['run', '--help'],
  ['run', 'x', '-h'],
  ['scripted-model', '--help'],
])('the help for %s %s goes to stdout', async (...args) => {
  const { run } = await createWorld()
  expect(await run(args)).toEqual({ code: 0, signal: null, stdout: HELP, stderr: '' })
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
