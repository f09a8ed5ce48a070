import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { manifest, writeFiles } from './support/workspace.ts'

const script = path.resolve(import.meta.dirname, '../../../.scripts/check-boundaries.mjs')
let root: string
const write = (files: Record<string, string>) => writeFiles(root, files)
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'chirality-boundaries-'))
  write({
    'pnpm-workspace.yaml':
      'packages:\n  - packages/*\n  - "apps/*"\n  - fixtures\n\ncatalog:\n  zod: 4.0.0\n',
    'packages/core/package.json': manifest(
      'core',
      {},
      { exports: { '.': './src/index.ts', './x/*': './x/*' } },
    ),
    'packages/core/src/index.ts': 'export const one = 1\n',
    'packages/runner/package.json': manifest('runner', { core: 'dependencies', fixtures: 'devDependencies' }),
    'packages/runner/src/index.ts': `import { one } from '@chirality/core'\nexport const two = one + 1\n`,
    'fixtures/package.json': manifest('fixtures', { core: 'dependencies' }),
  })
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a tree without violations passes', () => {
  write({
    'packages/runner/src/index.test.ts': `import '@chirality/fixtures'\nimport '@chirality/runner'\nprocess.env.HOME\n`,
    'packages/runner/src/use.ts': `import { statSync } from 'node:fs'\nimport 'path'\nimport '@chirality/core/x/y'\nimport './index.ts'\n`,
    'packages/runner/src/process/system/process-env.ts': 'export const env = process.env\n',
    'packages/runner/dist/bad.js': `import 'undeclared'\n`,
    'packages/runner/vitest.config.ts': `import '../../.scripts/vitest.ts'\n`,
    'apps/cli/package.json': manifest('cli', { core: 'dependencies', runner: 'dependencies' }),
    'fixtures/case/package.json': '{}',
    'fixtures/case/index.js': `require('undeclared')\n`,
  })
  expect(check()).toEqual({ status: 0, lines: ['Boundaries hold: 4 packages, 6 files'] })
})

test('a tree without packages is an error, not a pass', () => {
  write({ 'pnpm-workspace.yaml': 'packages:\n  - nowhere/*\n' })
  expect(check().status).toBe(1)
})

describe('declared dependencies', () => {
  const undeclared: [form: string, source: string][] = [
    ['import', `import x from 'left-pad'`],
    ['import for effect', `import 'left-pad'`],
    ['type import', `import type { X } from 'left-pad'`],
    ['multi-line import', `import {\n  x,\n} from 'left-pad'`],
    ['re-export', `export { x } from 'left-pad'`],
    ['star re-export', `export * from "left-pad"`],
    ['import()', `await import('left-pad')`],
    ['import() with a template', 'await import(`left-pad`)'],
    ['type import()', `type X = import('left-pad').X`],
    ['require', `const x = require('left-pad')`],
    ['subpath', `import x from 'left-pad/sub/path.js'`],
    ['after code that looks like a comment', `const a = 'http://x' // '\nimport 'left-pad'`],
    ['after a regular expression with quotes', `const a = /['"\`]/\nimport 'left-pad'`],
    ['after a division', `const a = 4 / 2 / 1, b = "'"\nimport 'left-pad'`],
    ['inside a template', `const a = \`x\${await import('left-pad')}y\``],
  ]
  test.each(undeclared)('%s of an undeclared package', (_form, source) => {
    write({ 'packages/core/src/bad.ts': source })
    const line = source.slice(0, source.indexOf('left-pad')).split('\n').length
    expect(check()).toEqual({
      status: 1,
      lines: [`packages/core/src/bad.ts:${line} imports left-pad, which package.json does not declare`],
    })
  })

  const harmless: [what: string, source: string][] = [
    ['a comment', `// import 'left-pad'\n/* import 'left-pad' */`],
    ['a string', `const a = "import 'left-pad'"`],
    ['an escaped quote', `const a = 'it\\'s', b = " from 'left-pad' "`],
    ['a template', `const a = \`import 'left-pad' \${\`from 'left-pad'\`} from 'left-pad'\``],
    ['Array.from', `const a = Array.from('left-pad')`],
    ['a method named require', `module.require('left-pad')`],
  ]
  test.each(harmless)('the words in %s are not an import', (_what, source) => {
    write({ 'packages/core/src/good.ts': source })
    expect(check().status).toBe(0)
  })

  test('shipped code must not import a devDependency', () => {
    write({ 'packages/runner/src/bad.ts': `import '@chirality/fixtures'\n` })
    expect(check().lines).toEqual([
      'packages/runner/src/bad.ts:1 imports @chirality/fixtures, which is only a devDependency',
    ])
  })

  test('an optional peer that shipped code imports is installed by npm start', () => {
    write({
      'packages/runner/package.json': JSON.stringify({
        name: '@chirality/runner',
        exports: './src/index.ts',
        peerDependencies: { peer: '1' },
        devDependencies: { peer: '1' },
      }),
      'packages/runner/src/index.ts': `export const load = () => import('peer')\n`,
      'packages/runner/src/index.test.ts': `import 'peer'\n`,
    })
    expect(check().lines).toEqual([
      "packages/runner/src/index.ts:1 imports peer, which npm start does not install: add it to the dependencies of the repository's package.json",
    ])
    write({ 'package.json': JSON.stringify({ dependencies: { peer: '1' } }) })
    expect(check().status).toBe(0)
  })

  test('a package does not import itself by name', () => {
    write({ 'packages/core/src/bad.ts': `import '@chirality/core'\n` })
    expect(check().lines).toEqual([
      'packages/core/src/bad.ts:1 imports @chirality/core, its own package by name',
    ])
  })
})

describe('dependency direction', () => {
  const upward: [from: string, to: string, section: string][] = [
    ['packages/core', 'runner', 'dependencies'],
    ['packages/core', 'runner', 'devDependencies'],
    ['packages/core', 'fixtures', 'dependencies'],
    ['packages/runner', 'personas', 'dependencies'],
    ['packages/scripted-model', 'core', 'dependencies'],
    ['packages/sessions', 'server', 'peerDependencies'],
    ['packages/server', 'cli', 'dependencies'],
    ['fixtures', 'runner', 'dependencies'],
    ['apps/cli', 'fixtures', 'dependencies'],
    ['apps/web', 'cli', 'dependencies'],
  ]
  test.each(upward)('%s must not have %s in %s', (from, to, section) => {
    const name = path.basename(from)
    write({
      'packages/personas/package.json': manifest('personas'),
      'packages/server/package.json': manifest('server'),
      'apps/cli/package.json': manifest('cli'),
    })
    write({ [`${from}/package.json`]: manifest(name, { [to]: section }) })
    rmSync(path.join(root, 'packages/runner/src'), { recursive: true })
    expect(check().lines).toEqual([
      `${from}/package.json:4 @chirality/${name} must not depend on @chirality/${to}: dependencies point one way`,
    ])
  })

  test('downward and test dependencies are allowed', () => {
    write({
      'packages/scripted-model/package.json': manifest('scripted-model'),
      'packages/personas/package.json': manifest('personas', { core: 'dependencies' }),
      'packages/sessions/package.json': manifest('sessions', {
        personas: 'dependencies',
        runner: 'dependencies',
      }),
      'packages/loops/package.json': manifest('loops', {
        sessions: 'dependencies',
        fixtures: 'devDependencies',
      }),
      'packages/server/package.json': manifest('server', {
        loops: 'dependencies',
        'scripted-model': 'devDependencies',
      }),
      'apps/web/package.json': manifest('web', { server: 'dependencies', 'scripted-model': 'dependencies' }),
    })
    expect(check().status).toBe(0)
  })

  test('a new package must be given its place', () => {
    write({ 'packages/extra/package.json': manifest('extra') })
    expect(check().lines).toEqual([expect.stringMatching(/^packages\/extra\/package.json:1 .* no place/)])
  })
})

describe('exports', () => {
  test.each(['@chirality/core/src/index.ts', '@chirality/core/internal', '@chirality/core/dist/index.js'])(
    '%s is not exported',
    specifier => {
      write({ 'packages/runner/src/bad.ts': `\nimport '${specifier}'\n` })
      expect(check().lines).toEqual([
        `packages/runner/src/bad.ts:2 imports ${specifier}, which @chirality/core does not export`,
      ])
    },
  )

  test('no path leads into another package, not even from a test', () => {
    write({ 'packages/runner/test/bad.test.ts': `import '../../core/src/index.ts'\n` })
    expect(check().lines).toEqual([
      'packages/runner/test/bad.test.ts:1 reaches into @chirality/core by path: import its name',
    ])
  })
})

test('an absolute import path is refused', () => {
  write({ 'packages/core/test/bad.ts': `import '/somewhere/index.ts'\n` })
  expect(check().lines).toEqual([
    "packages/core/test/bad.ts:1 imports /somewhere/index.ts: an absolute path is this machine's",
  ])
})

test('only a benchmark may reach the benchmark report', () => {
  const source = `import '../../core/bench/report.ts'\n`
  write({ 'packages/runner/bench/index.ts': source, 'packages/runner/src/bad.ts': source })
  expect(check().lines).toEqual([
    'packages/runner/src/bad.ts:1 reaches into @chirality/core by path: import its name',
  ])
})

test.each(['call.input.file_path', "input['old_string']", 'const { aggregatedOutput } = item'])(
  'outside of core and the runner no field of an agent’s calls is read: %s',
  source => {
    write({
      'packages/personas/package.json': manifest('personas', { core: 'dependencies' }),
      'packages/personas/src/bad.ts': `\n${source}\n`,
    })
    const message = "reads a field of an agent's own calls: take factsOf, editsOf or todosOf of core"
    expect(check().lines).toContain(`packages/personas/src/bad.ts:2 ${message}`)
    write({ 'packages/personas/src/bad.ts': '', 'packages/core/src/translate/good.ts': `\n${source}\n` })
    expect(check().lines.filter(line => line.includes(message))).toEqual([])
  },
)

describe('import cycles', () => {
  test('two files', () => {
    write({
      'packages/core/src/a.ts': `import './b.ts'\n`,
      'packages/core/src/b.ts': `\nimport type { A } from './a.ts'\n`,
    })
    expect(check().lines).toEqual([
      'packages/core/src/b.ts:2 import cycle: packages/core/src/a.ts → packages/core/src/b.ts → packages/core/src/a.ts',
    ])
  })

  test('a file and itself', () => {
    write({ 'packages/core/src/a.ts': `import './a.ts'\n` })
    expect(check().lines).toHaveLength(1)
  })

  test('three files over folders, entered from outside the cycle', () => {
    write({
      'packages/core/src/a.ts': `import './in/b.ts'\n`,
      'packages/core/src/in/b.ts': `import './c.ts'\n`,
      'packages/core/src/in/c.ts': `import '../d.ts'\n`,
      'packages/core/src/d.ts': `import './in/b.ts'\n`,
    })
    expect(check().lines).toEqual([expect.stringMatching(/in\/b\.ts → .*in\/c\.ts → .*d\.ts → .*in\/b\.ts$/)])
  })

  test('two ways to one file are no cycle', () => {
    write({
      'packages/core/src/a.ts': `import './b.ts'\nimport './c.ts'\n`,
      'packages/core/src/b.ts': `import './c.ts'\n`,
      'packages/core/src/c.ts': '',
    })
    expect(check().status).toBe(0)
  })
})

test('a timeout is not combined with other signals, and the runner combines none by itself', () => {
  const combined = 'export const a = (b: AbortSignal) => AbortSignal.any([b])\n'
  write({
    'packages/runner/src/bad.ts': combined,
    'packages/runner/src/common/any-signal.ts': combined,
    'packages/core/src/fine.ts': combined,
    'packages/core/src/bad.ts': `${combined}export const c = AbortSignal.timeout(1)\n`,
  })
  expect(check().lines).toEqual([
    expect.stringMatching(/^packages\/core\/src\/bad\.ts:1 may lose a timeout/),
    expect.stringMatching(/^packages\/runner\/src\/bad\.ts:1 may lose a timeout/),
  ])
})

describe('process.env', () => {
  const reads = [
    'const a = process.env.HOME',
    'const a = process?.env',
    `const a = process['env'].HOME`,
    'const { env } = process',
    'const { argv, env: e } = globalThis.process',
    `import { env } from 'node:process'`,
    `import process, { argv, env as e } from 'process'`,
    `const a = \`home: \${process.env.HOME}\``,
    `const a = \`\${{ a: process\n  .env }}\``,
  ]
  test.each(reads)('%s', source => {
    write({ 'packages/runner/src/bad.ts': `\n${source}\n` })
    expect(check().lines).toEqual([
      'packages/runner/src/bad.ts:2 reads process.env: only packages/runner/src/process/system/process-env.ts may',
    ])
  })

  const harmless = [
    '// process.env',
    `const a = 'process.env.HOME'`,
    'const a = `process.env`',
    'const a = process.environment',
    'const { env } = process.config',
    `import { argv } from 'node:process'`,
  ]
  test.each(harmless)('not: %s', source => {
    write({ 'packages/runner/src/good.ts': source })
    expect(check().status).toBe(0)
  })
})

describe('harness ids', () => {
  const descriptors = {
    'packages/runner/src/codex/descriptor.ts': `export const HARNESS_ID = 'codex'\n`,
    'packages/runner/src/claude-code/descriptor.ts': `export const HARNESS_ID = 'claude-code'\n`,
  }
  const named = [
    `const a = { codex: 'Codex' }`,
    `const a = 'codex'`,
    `const a = { 'claude-code': 1 }`,
    `const a = 'Use claude-code (the default) instead.'`,
    'const a = `not codex`',
    `switch (a) { case "codex": }`,
  ]
  test.each(named)('%s', source => {
    write({ ...descriptors, 'packages/core/src/bad.ts': `\n${source}\n` })
    expect(check().lines).toEqual([
      'packages/core/src/bad.ts:2 names a harness by its id: read it from the descriptor or meta() of the harness',
    ])
  })

  const harmless = [
    '// codex',
    `const a = 'npm install -g @openai/codex'`,
    `const a = '.codex'`,
    `const a = 'Codex'`,
    `const codexHome = 1`,
    `import './codex/x.ts'`,
  ]
  test.each(harmless)('not: %s', source => {
    write({ ...descriptors, 'packages/core/src/good.ts': source })
    expect(check().status).toBe(0)
  })

  test('the harness itself, its translator and tests may', () => {
    const source = `const a = 'codex'\n`
    write({
      ...descriptors,
      'packages/runner/src/codex/deep/file.ts': source,
      'packages/core/src/translate/codex/file.ts': source,
      'packages/core/src/file.test.ts': source,
    })
    expect(check().status).toBe(0)
  })

  test('what all translators share may not', () => {
    write({ ...descriptors, 'packages/core/src/translate/file.ts': `const a = 'codex'\n` })
    expect(check().status).toBe(1)
  })
})

describe('starts of programs', () => {
  const message = 'imports node:child_process: take startProgram or runHelper of the runner'
  test.each([
    "import { spawn } from 'node:child_process'",
    "import { type ChildProcess, execFile } from 'node:child_process'",
  ])('outside of the one file: %s', source => {
    write({ 'packages/core/src/bad.ts': `${source}\n` })
    expect(check().lines).toEqual([`packages/core/src/bad.ts:1 ${message}`])
  })

  test('types, tests and that file may', () => {
    const source = "import { spawn } from 'node:child_process'\n"
    write({
      'packages/core/src/type.ts': "import type { ChildProcess } from 'node:child_process'\n",
      'packages/core/src/file.test.ts': source,
      'packages/runner/src/process/program/start-program.ts': source,
    })
    expect(check().status).toBe(0)
  })
})

describe('readers of files', () => {
  test.each([
    "import { readFileSync, statSync } from 'node:fs'",
    "import { type FileHandle, open } from 'node:fs/promises'",
    "import fs from 'node:fs'",
    "import * as fs from 'fs/promises'",
    "export { copyFile as copy } from 'node:fs/promises'",
    "const { readFile } = await import('node:fs/promises')",
    "const fs = process.getBuiltinModule('node:fs') // or createRequire",
  ])('that are not in the table: %s', source => {
    write({ 'packages/core/src/bad.ts': `${source}\n`, 'packages/core/src/bad.test.ts': `${source}\n` })
    expect(check().lines).toEqual([expect.stringContaining('core/src/bad.ts:1 opens files by itself: take ')])
  })

  test('the table has no file that opens none, and none that is gone', async () => {
    const { FILE_READERS } = await import(path.join(path.dirname(script), 'boundaries/file-readers.mjs'))
    const gone = Object.keys(FILE_READERS).filter(file => !existsSync(path.join(script, '../..', file)))
    expect(gone).toEqual([])
    write({ 'packages/runner/src/process/spool/spool-source.ts': '\n' })
    expect(check().lines).toEqual([expect.stringContaining('spool-source.ts:1 opens no file: ')])
  })
})

describe('what writes to the disk', () => {
  test.each([
    "import { rename } from 'node:fs/promises'",
    "import { renameSync as move } from 'node:fs'",
    "import { appendFile } from 'node:fs/promises'",
    'export const a = () => this.#ops.rename(temporary, path)',
    'export const a = O_WRONLY | O_APPEND',
    'export const a = openRegular(ops, path, OPEN.appendOrCreate)',
    'export const a = openRegular(ops, lockPath, OPEN.create)',
  ])('is in the table: %s', source => {
    const files = { 'packages/core/src/bad.ts': source, 'packages/core/src/bad.test.ts': source }
    write(files)
    const disk = { 'packages/disk/package.json': manifest('disk'), 'packages/disk/src/good.ts': source }
    write(source.includes('node:fs') ? files : { ...files, ...disk })
    const found = check().lines.filter(line => !line.includes('opens files'))
    expect(found).toEqual([
      expect.stringMatching(/^packages\/core\/src\/bad\.ts:1 renames, appends or locks/),
    ])
  })

  test('the table has no file that needs no place in it, and none that is gone', async () => {
    const { DISK_WRITERS } = await import(path.join(path.dirname(script), 'boundaries/disk-writers.mjs'))
    const gone = Object.keys(DISK_WRITERS).filter(file => !existsSync(path.join(script, '../..', file)))
    expect(gone).toEqual([])
    write({ 'packages/runner/src/turn/adoption-record.ts': '\n' })
    expect(check().lines).toEqual([
      expect.stringContaining('adoption-record.ts:1 opens no file: '),
      expect.stringContaining('adoption-record.ts:1 writes nothing by itself: '),
    ])
  })

  test.each([
    'class A { b(c) { this.#last = this.#last.then(c) } }',
    'let last; last = last.catch(() => {})',
    'const result = this.#last.then(work, work)',
  ])('is no chain of promises: %s', source => {
    write({ 'packages/core/src/bad.ts': source, 'apps/web/src/good.ts': source })
    expect(check().lines).toEqual([expect.stringMatching(/^packages\/core\/src\/bad\.ts:1 chains promises/)])
    write({ 'packages/core/src/bad.ts': 'turn.then(over, over)\nconst b = a.then(c)\n' })
    expect(check().status).toBe(0)
  })
})

describe('file length', () => {
  test('600 lines are fine, 601 are not, in tests neither', () => {
    write({
      'packages/core/src/fits.ts': '\n'.repeat(600),
      'packages/core/src/long.ts': `${'\n'.repeat(600)}// last`,
      'packages/core/test/long.test.ts': '\n'.repeat(1000),
    })
    expect(check().lines).toEqual([
      'packages/core/src/long.ts:601 has 601 lines: split it, 600 is the cap',
      'packages/core/test/long.test.ts:601 has 1000 lines: split it, 600 is the cap',
    ])
  })
})

describe('the shape of the sources', () => {
  const known = (entries: object) => write({ '.scripts/boundaries/known.json': JSON.stringify(entries) })
  const lines = () => check('shape').lines

  const over: [what: string, key: string, source: string, message: string][] = [
    [
      'a function of 81 lines',
      'functions',
      `export function long() {${'\n'.repeat(80)}}\n`,
      'bad.ts:1 long has 81 lines: 80 is the cap',
    ],
    [
      'an arrow function of 81 lines',
      'functions',
      `\nexport const long = async () => {${'\n'.repeat(80)}}\n`,
      'bad.ts:2 long has 81 lines: 80 is the cap',
    ],
    [
      'a class of 13 fields',
      'classes',
      `export class Wide {\n${Array.from({ length: 13 }, (_, i) => `  #f${i} = 0\n`).join('')}  static s = 1\n  run = () => 1\n}\n`,
      'bad.ts:1 Wide has 13 fields: 12 is the cap',
    ],
  ]
  test.each(over)('%s is over the cap, unless the list has its size', (_what, key, source, message) => {
    write({ 'packages/core/src/bad.ts': source, 'packages/core/src/bad.test.ts': source })
    expect(lines()).toEqual([`packages/core/src/${message}`])
    const [, name, size] = / (\w+) has (\d+)/.exec(message) ?? []
    known({ [key]: { [`${name}`]: Number(size) } })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
  })

  test('a name is exported by one file of a package; types and what an index passes on count by their home', () => {
    write({
      'packages/core/src/index.ts': `export { one } from './a.ts'\n`,
      'packages/core/src/a.ts': 'export const one = 1\nexport type one = 1\nexport interface Two {}\n',
      'packages/core/src/b.ts': 'export type Two = 2\n',
    })
    expect(lines()).toEqual([
      'packages/core/src/b.ts:1 exports Two, as packages/core/src/a.ts does: one name, one thing',
    ])
    known({ names: ['Two'] })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
  })

  test('at most 30 names are exported by several packages', () => {
    const names = (count: number) =>
      Array.from({ length: count }, (_, i) => `export const n${i} = 0\n`).join('')
    write({ 'packages/core/src/n.ts': names(31), 'packages/runner/src/n.ts': names(30) })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
    write({ 'packages/runner/src/n.ts': names(31) })
    expect(lines()).toEqual([expect.stringMatching(/ 31 names .* 30 are allowed/)])
  })

  test('a cycle of sibling folders is found at any depth and of any length, a cut that is listed ends it', () => {
    write({
      'packages/core/src/x/a/one.ts': `import '../b/two.ts'\n`,
      'packages/core/src/x/b/two.ts': `import type { C } from '../c/three.ts'\n`,
      'packages/core/src/x/c/three.ts': `import '../../x/a/other.ts'\nimport '../../index.ts'\n`,
      'packages/core/src/x/root.ts': `import './a/one.ts'\n`,
    })
    const edges = ['a -> b', 'b -> c', 'c -> a'].map(edge =>
      edge.replaceAll(/\w/g, folder => `packages/core/src/x/${folder}`),
    )
    expect(lines()).toEqual(edges.map(edge => expect.stringMatching(new RegExp(`folder cycle: ${edge}$`))))
    known({ folderImports: [edges[1]] })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
  })

  test('more than 8 % of doc comments without a subject are too many', () => {
    const docs = (floating: number) =>
      `${'/** Of those. */\n'.repeat(floating)}${'/** Names it. */\n// What\n'.repeat(100 - floating)}`
    write({ 'packages/core/src/d.ts': docs(8) })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
    write({ 'packages/core/src/d.ts': docs(9) })
    expect(lines()).toEqual([expect.stringMatching(/^packages\/core\/src\/d\.ts:1 9 % of the doc comments/)])
    known({ floatingComments: { 'packages/core': 9 } })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
  })

  test('an object literal is not spread, what may be undefined or something else is', () => {
    write({ 'packages/core/src/s.ts': 'export const s = (a, b) => ({ ...a, ...(b ? { b } : {}) })\n' })
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
    write({ 'packages/core/src/s.ts': '\nexport const s = (a, b) => f({ ...{ a, b } })\n' })
    expect(lines()).toEqual([
      'packages/core/src/s.ts:2 packages/core spreads 1 object literals, 0 may be: write their properties',
    ])
  })

  test('an entry of the list that nothing needs is a violation, and --shrink takes it out and lowers the rest', () => {
    const long = (lines: number) =>
      write({ 'packages/core/src/l.ts': `export function long() {${'\n'.repeat(lines - 1)}}\n` })
    const entries = { functions: { gone: 90, long: 100 }, names: ['gone'], folderImports: ['a -> b'] }
    known(entries)
    long(90)
    const stale = ['functions: gone', 'names: gone', 'folderImports: a -> b']
    expect(lines()).toEqual(
      stale.map(
        entry =>
          `.scripts/boundaries/known.json:1 no longer needs ${entry}: node .scripts/check-boundaries.mjs --shrink`,
      ),
    )
    run('--shrink')
    expect(lines()).toEqual([expect.stringContaining('Boundaries hold')])
    long(91)
    expect(lines()).toEqual(['packages/core/src/l.ts:1 long has 91 lines: 90 is the cap'])
  })

  test('the figures of a package name each thing over a limit', () => {
    write({ 'packages/core/src/s.ts': 'export const s = { ...{ a: 1 } }\n/** Of it. */\n' })
    const { stdout } = run('--figures', 'packages/core')
    expect(stdout).toContain('packages/core/src/s.ts:1 literal spread')
    expect(stdout).toContain('packages/core/src/s.ts:2 floating beginning')
    expect(run('--figures', 'packages/none').stderr).toContain('packages/none is no package')
  })
})

function check(only: 'reach' | 'shape' = 'reach') {
  const { status, stdout } = run('--only', only)
  return { status, lines: stdout.split('\n').filter(line => line !== '') }
}

function run(...args: string[]) {
  return spawnSync(process.execPath, [script, '--root', root, ...args], { encoding: 'utf8' })
}
