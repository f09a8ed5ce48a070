import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as core from '../src/index.ts'

const packageRoot = path.resolve(import.meta.dirname, '..')
let built: string

beforeAll(() => {
  built = mkdtempSync(path.join(os.tmpdir(), 'chirality-core-'))
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json')
  const tsc = path.join(path.dirname(manifest), 'bin', 'tsc')
  const result = node([tsc, '-p', 'tsconfig.build.json', '--outDir', built])
  expect(result).toMatchObject({ status: 0, stdout: '' })
})

afterAll(() => rmSync(built, { recursive: true, force: true }))

test('the built entry loads and works with only web globals', () => {
  const result = loadInWebRealm('index.js')
  expect(result).toMatchObject({ status: 0 })
  const { names, nodeGlobals, kinds, files } = JSON.parse(result.stdout)
  expect(nodeGlobals).toEqual([])
  expect(names).toEqual(Object.keys(core).sort())
  expect(kinds).toEqual(['json', 'malformed', 'json'])
  expect(files).toBeGreaterThan(1)
})

test('no built file imports anything but its neighbours, not even lazily', () => {
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.js'))
  const specifiers = files.flatMap(file => importsOf(readFileSync(path.join(built, file), 'utf8')))
  expect(specifiers).not.toEqual([])
  expect(specifiers.filter(specifier => !/^\.\.?\//.test(specifier))).toEqual([])
})

test.each([
  ['a Node builtin', `import 'node:fs'`, 'imports node:fs'],
  ['a bare builtin, two files down', `export * from './inner-bad.js'`, 'imports fs'],
  ['a Node global', 'Buffer.alloc(1)', 'Buffer is not defined'],
])('the proof can fail: %s', (_name, source, message) => {
  writeFileSync(path.join(built, 'inner-bad.js'), `import 'fs'`)
  writeFileSync(path.join(built, 'bad.js'), `export { NdjsonFramer } from './index.js'\n${source}\n`)
  const result = loadInWebRealm('bad.js')
  rmSync(path.join(built, 'bad.js'))
  rmSync(path.join(built, 'inner-bad.js'))
  expect(result.status).toBe(1)
  expect(result.stderr).toContain(message)
})

function loadInWebRealm(entry: string) {
  const script = path.join(packageRoot, 'test', 'web-realm.mjs')
  return node(['--experimental-vm-modules', '--no-warnings', script, path.join(built, entry)])
}

function node(args: string[]) {
  return spawnSync(process.execPath, args, { cwd: packageRoot, encoding: 'utf8' })
}

function importsOf(source: string): string[] {
  const pattern = /\b(?:from|import|require)\s*\(?\s*['"]([^'"]+)['"]/g
  return [...source.matchAll(pattern)].map(match => match[1] ?? '')
}
