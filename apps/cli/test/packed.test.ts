import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { dashboardFolder } from '../src/commands/serve/dashboard-folder.ts'

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const pnpm = path.join(root, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs')
const unpacked = mkdtempSync(path.join(tmpdir(), 'chirality-packed-'))
afterAll(() => rmSync(unpacked, { recursive: true, force: true }))

interface Manifest {
  name: string
  private?: boolean
  bin?: Record<string, string>
  exports: Record<string, Record<string, string>>
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const packages = ['packages', 'apps']
  .flatMap(group => readdirSync(path.join(root, group)).map(name => path.join(root, group, name)))
  .filter(folder => existsSync(path.join(folder, 'package.json')) && !manifestOf(folder).private)

describe.each(packages.map(folder => [manifestOf(folder).name, folder] as const))('%s', (_name, folder) => {
  test('as a tarball has versions, files and source maps that an installer can use', () => {
    const inside = unpack(folder)
    const manifest = manifestOf(inside)
    const versions = Object.values({ ...manifest.dependencies, ...manifest.peerDependencies })
    expect(versions.filter(version => /^(workspace|catalog):/.test(version))).toEqual([])
    const targets = Object.values(manifest.exports).flatMap(conditions => Object.values(conditions))
    const promised = [...targets, ...Object.values(manifest.bin ?? {}), 'LICENSE', 'README.md']
    expect(promised.filter(file => !existsSync(path.join(inside, file)))).toEqual([])
    const files = readdirSync(inside, { recursive: true, encoding: 'utf8' })
    const unresolved = files
      .filter(file => file.endsWith('.map'))
      .filter(file => !resolves(path.join(inside, file)))
    expect(unresolved).toEqual([])
    expect(files.filter(file => /\.test\.[jt]sx?$/.test(file))).toEqual([])
  })

  test('refuses to be packed by npm, and names the command that does', () => {
    const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], {
      cwd: folder,
      encoding: 'utf8',
      env: CLEAN,
    })
    expect(status).not.toBe(0)
    expect(stderr).toContain('npm run pack')
  })
})

test('the packed command brings the dashboard along, and takes no other page for it', () => {
  const project = mkdtempSync(path.join(unpacked, 'project-'))
  mkdirSync(path.join(project, 'web', 'dist'), { recursive: true })
  writeFileSync(path.join(project, 'web', 'dist', 'index.html'), 'a page of the project')
  const installed = path.join(project, 'node_modules', '@chirality', 'cli')
  cpSync(unpack(path.join(root, 'apps', 'cli')), installed, { recursive: true })
  const dashboard = path.join(installed, 'dashboard')
  expect(dashboardFolder(path.join(installed, 'dist', 'chunks', 'serve.js'))).toBe(dashboard)
  const page = readFileSync(path.join(dashboard, 'index.html'), 'utf8')
  const scripts = [...page.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, file = '']) => file)
  expect(scripts.length).toBeGreaterThan(1)
  expect(scripts.filter(file => !existsSync(path.join(dashboard, file)))).toEqual([])
  rmSync(dashboard, { recursive: true })
  expect(dashboardFolder(path.join(installed, 'dist', 'chunks', 'serve.js'))).toBeUndefined()
})

test('in the repository the dashboard is the one that was built last', () => {
  expect(dashboardFolder()).toBe(path.join(root, 'apps', 'web', 'dist'))
})

const CLEAN = { PATH: process.env.PATH, HOME: unpacked }

function unpack(folder: string): string {
  const out = mkdtempSync(path.join(unpacked, 'tar-'))
  execFileSync(process.execPath, [pnpm, 'pack', `--pack-destination=${out}`], { cwd: folder, env: CLEAN })
  const [tarball = ''] = readdirSync(out)
  execFileSync('tar', ['-xzf', path.join(out, tarball), '-C', out])
  return path.join(out, 'package')
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

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
}
