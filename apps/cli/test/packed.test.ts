import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dashboardFolder } from '../src/commands/serve.ts'
import { type PublicTypes, publicTypes } from './support/public-types.ts'
import { thirdParties } from './support/third-parties.ts'

interface Manifest {
  name: string
  private?: boolean
  bin?: Record<string, string>
  exports: Record<string, Record<string, string>>
  scripts: Record<string, string>
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-packed-')))
const app = path.join(folder, 'app')
const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: folder }
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const packages = ['packages', 'apps']
  .flatMap(group => readdirSync(path.join(root, group)).map(name => path.join(root, group, name)))
  .filter(source => existsSync(path.join(source, 'package.json')) && !manifestOf(source).private)
  .map(source => ({ source, name: manifestOf(source).name }))

// As a stranger gets them: packed by the documented command's tool, installed by npm, in a folder outside of the repository.
beforeAll(() => {
  const tarballs = path.join(folder, 'tarballs')
  mkdirSync(tarballs)
  const pnpm = path.join(root, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')
  const filters = packages.map(({ name }) => `--filter=${name}`)
  run(process.execPath, [pnpm, ...filters, 'pack', `--pack-destination=${tarballs}`], root)
  mkdirSync(app)
  const dependencies = Object.fromEntries(
    packages.map(({ name }) => {
      const file = readdirSync(tarballs).find(tarball =>
        tarball.startsWith(`${name.slice(1).replace('/', '-')}-`),
      )
      return [name, `file:${path.join(tarballs, file ?? 'missing')}`]
    }),
  )
  writeFileSync(
    path.join(app, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  )
  const others = [
    ['@types/node', path.join(root, 'node_modules', '@types', 'node')] as const,
    ['@trpc/client', path.join(root, 'packages', 'server', 'node_modules', '@trpc', 'client')] as const,
    // Optional peers of the client, whose query options a page imports.
    ...['@tanstack/react-query', '@trpc/tanstack-react-query', '@types/react', 'react'].map(
      name => [name, path.join(root, 'node_modules', ...name.split('/'))] as const,
    ),
  ].map(([name, source]) => `${name}@${manifestOf(source).version}`)
  // A page of the project that the command must not take for its own.
  mkdirSync(path.join(app, 'web', 'dist'), { recursive: true })
  writeFileSync(path.join(app, 'web', 'dist', 'index.html'), 'a page of the project')
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...others], app)
}, 900_000)

describe.each(packages)('$name', ({ name }) => {
  test('has versions, files and source maps that an installer can use', () => {
    const inside = installed(name)
    const manifest = manifestOf(inside)
    const versions = Object.values({ ...manifest.dependencies, ...manifest.peerDependencies })
    expect(versions.filter(version => /^(workspace|catalog):/.test(version))).toEqual([])
    const targets = Object.values(manifest.exports).flatMap(conditions => Object.values(conditions))
    const promised = [...targets, ...Object.values(manifest.bin ?? {}), 'LICENSE', 'README.md']
    expect(promised.filter(file => !existsSync(path.join(inside, file)))).toEqual([])
    const files = readdirSync(inside, { recursive: true, encoding: 'utf8' })
    const maps = files.filter(file => file.endsWith('.map') && !file.includes('node_modules'))
    expect(maps.filter(file => !resolves(path.join(inside, file)))).toEqual([])
    expect(files.filter(file => /\.test\.[jt]sx?$/.test(file))).toEqual([])
  })

  test('has a manifest in which publint finds nothing', async () => {
    const { messages, pkg = {} } = await publint({ pkgDir: installed(name), pack: false, strict: true })
    expect(messages.map(message => formatMessage(message, pkg))).toEqual([])
  })
})

test('no package can be packed by npm alone, which is told which command does', () => {
  const guarded = packages.filter(({ source }) => manifestOf(source).scripts.prepack?.includes('prepack.mjs'))
  expect(guarded).toEqual(packages)
  const cwd = packages[0]?.source
  const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], { cwd, encoding: 'utf8', env })
  expect(status).not.toBe(0)
  expect(stderr).toContain('npm run pack')
})

/** So that who wants git worktrees does not get a web framework: the protocol of tools is an optional peer. */
const MOST_THIRD_PARTIES = {
  ...{ core: 0, personas: 1, runner: 1, 'scripted-model': 2, conformance: 2 },
  ...{ workspaces: 2, sessions: 2, loops: 3, fleet: 9 },
}

test.each(Object.entries(MOST_THIRD_PARTIES))(
  '%s brings at most %i packages of others along',
  (name, most) => {
    const brought = thirdParties(app, `@chirality/${name}`)
    expect(brought.length, brought.join(' ')).toBeLessThanOrEqual(most)
  },
)

describe('a program in strict TypeScript, which checks our declarations, too', () => {
  let found: PublicTypes
  beforeAll(() => {
    found = publicTypes(
      packages.map(({ name }) => {
        const inside = installed(name)
        return { name, folder: inside, exports: manifestOf(inside).exports }
      }),
    )
  })

  test('can name each type in the signature of something exported', () => {
    expect(found.unnamed).toEqual([])
  })

  test('can import every name, have a harness of its own, and take every example of READMEs and docs', {
    timeout: 900_000,
  }, () => {
    const named = [...found.names].map(([specifier, names], i) => ({
      file: `names-${i}.ts`,
      code: `export type { ${names.join(', ')} } from '${specifier}'\n`,
    }))
    const written = [...named, ...examples()]
    for (const { file, code } of written) writeFileSync(path.join(app, file), code)
    expect(written.length).toBeGreaterThan(25)
    cpSync(OWN_HARNESS, path.join(app, 'own'), { recursive: true })
    const files = [...written.map(({ file }) => file), 'own/program.ts', 'own/descriptor.ts']
    const options = { strict: true, skipLibCheck: false, module: 'nodenext', target: 'es2023' }
    const stricter = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
    const output = { rootDir: '.', outDir: 'out', rewriteRelativeImportExtensions: true, types: ['node'] }
    const compilerOptions = { ...options, ...stricter, ...output }
    writeFileSync(path.join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
    const { stdout } = spawnSync(tsc, ['-p', app], { cwd: app, encoding: 'utf8', env })
    // What declarations of others have wrong by themselves is not ours to mend.
    const errors = stdout.split(/\n(?! )/).filter(error => !/^$|^node_modules\/(?!@chirality\/)/.test(error))
    expect(errors).toEqual([])
  })

  test.each(['core', 'personas', 'scripted-model', 'server'])('runs as the example of %s', name => {
    expect(runCompiled(`packages-${name}-0.js`)).toMatchObject({ status: 0, stderr: '' })
  })

  test('runs an agent of its own, which calls functions of the program', () => {
    const { status, stdout, stderr } = runCompiled('own/program.js', path.join(app, 'own', 'agent.mjs'))
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout.trim().split('\n')).toEqual([
      ...['greet {"name":"Ada"}', 'Hello Ada', 'Greeted in a turn.', 'completed'],
      ...['greet {"name":"Ada"}', 'complete'],
    ])
  })
})

/** A harness that is written with what the packages export, and a program that uses it. */
const OWN_HARNESS = path.join(root, 'packages', 'runner', 'test', 'line-agent')

function runCompiled(file: string, ...args: string[]) {
  const program = [path.join(app, 'out', file), ...args]
  return spawnSync(process.execPath, program, { cwd: app, encoding: 'utf8', env })
}

test('the command runs, brings its dashboard along, and takes no other page for it', () => {
  const inside = installed('@chirality/cli')
  const command = path.join(app, 'node_modules', '.bin', 'chirality')
  expect(run(command, ['--version'], app)).toContain(manifestOf(inside).version)
  const dashboard = path.join(inside, 'dashboard')
  const chunk = path.join(inside, 'dist', 'chunks', 'serve.js')
  expect(dashboardFolder(chunk)).toBe(dashboard)
  const page = readFileSync(path.join(dashboard, 'index.html'), 'utf8')
  const scripts = [...page.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, file = '']) => file)
  expect(scripts.length).toBeGreaterThan(1)
  expect(scripts.filter(file => !existsSync(path.join(dashboard, file)))).toEqual([])
  rmSync(dashboard, { recursive: true })
  expect(dashboardFolder(chunk)).toBeUndefined()
})

test('in the repository the dashboard is the one that was built last', () => {
  expect(dashboardFolder()).toBe(path.join(root, 'apps', 'web', 'dist'))
})

/**
 * `ts` examples are programs; `typescript` ones need an agent or a server of the reader's, and only compile. Those marked
 * `ts in-repository` are parts of files of this repository.
 */
function examples(): { file: string; code: string }[] {
  return documents().flatMap(document =>
    [
      ...readFileSync(path.join(root, document), 'utf8').matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```/gm),
    ].map(([, code = ''], i) => ({
      file: `${document.replace(/(?:\/README)?\.md$/, '').replaceAll('/', '-')}-${i}.ts`,
      code,
    })),
  )
}

/** All that is written for somebody outside. */
function documents(): string[] {
  const within = (folder: string) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.md') && !file.includes('node_modules'))
      .map(file => path.join(folder, file))
  const ofPackages = packages.map(({ source }) => path.relative(root, source))
  return [
    'README.md',
    ...within('docs'),
    ...ofPackages.map(folder => path.join(folder, 'README.md')),
    ...ofPackages.flatMap(folder => within(path.join(folder, 'src'))),
  ]
}

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function installed(name: string): string {
  return path.join(app, 'node_modules', ...name.split('/'))
}

function resolves(map: string): boolean {
  const { sources = [], sourcesContent } = JSON.parse(readFileSync(map, 'utf8')) as {
    sources?: string[]
    sourcesContent?: string[]
  }
  return (
    sourcesContent !== undefined ||
    sources.every(source => existsSync(path.resolve(path.dirname(map), source)))
  )
}

function manifestOf(directory: string): Manifest & { version: string } {
  return JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8'))
}
