import { execFileSync, spawnSync } from 'node:child_process'
import {
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
  const types = `@types/node@${manifestOf(path.join(root, 'node_modules', '@types', 'node')).version}`
  // A page of the project that the command must not take for its own.
  mkdirSync(path.join(app, 'web', 'dist'), { recursive: true })
  writeFileSync(path.join(app, 'web', 'dist', 'index.html'), 'a page of the project')
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', types], app)
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

test('every example compiles under strict TypeScript, declarations of dependencies included', () => {
  const files = examples().map(({ file, code }) => {
    writeFileSync(path.join(app, file), code)
    return file
  })
  expect(files.length).toBeGreaterThan(7)
  const options = { strict: true, skipLibCheck: false, module: 'nodenext', target: 'es2023', types: ['node'] }
  writeFileSync(
    path.join(app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, outDir: 'out' }, files }),
  )
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
  const { status, stdout } = spawnSync(tsc, ['-p', app], { cwd: app, encoding: 'utf8', env })
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
})

test.each(['core', 'personas', 'scripted-model', 'server'])(
  'the compiled example of %s runs with what was installed',
  name => {
    const { status, stderr } = spawnSync(process.execPath, [path.join(app, 'out', `${name}-0.js`)], {
      cwd: app,
      encoding: 'utf8',
      env,
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  },
)

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

/** `ts` examples are programs; `typescript` ones need an agent or a server of the reader's, and only compile. */
function examples(): { file: string; code: string }[] {
  const readmes = packages.map(
    ({ source }) => [path.basename(source), path.join(source, 'README.md')] as const,
  )
  return [...readmes, ['readme', path.join(root, 'README.md')] as const].flatMap(([name, readme]) =>
    [...readFileSync(readme, 'utf8').matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```/gm)].map(
      ([, code = ''], i) => ({ file: `${name}-${i}.ts`, code }),
    ),
  )
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
