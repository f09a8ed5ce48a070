import { expect, test } from 'vitest'
import { signsOf as foundIn } from '../../src/proof/tampering.ts'

/** What is found in the text of a file of the language that it looks like. `@{a}`: a hole of a template. */
function signsOf(code: string): string[] {
  const isPython = /^(?:class \w+(?:\(\w*\))?:|import \w+(?: as \w+)?$|from \w+ import|__import__)/m.test(
    code,
  )
  const file = isPython ? 'src/a.py' : /^@Override|^impl /m.test(code) ? 'src/a.rs' : 'src/a.js'
  const text = code.replaceAll('@{', '$'.concat('{'))
  return [...new Set(foundIn(file, text).map(({ sign }) => sign))]
}

test.each([
  "require('node:assert/strict').equal = () => {}",
  "require('assert')['equal'] = () => {}",
  "Object.assign(require('assert'), { equal() {} })",
  "const a = require('assert')\nmodule.exports = {}\na.strict.equal = () => {}",
  "import assert from 'node:assert'\nassert.equal = () => {}",
  "import * as chai from 'chai'\nchai.Assertion.prototype.assert = () => {}",
  "import { strict as check } from 'node:assert'\ncheck['equal'] = () => {}",
  "const { Assertion } = await import('chai')\nObject.defineProperty(Assertion, 'equal', {})",
  "const { Test: T } = require('tape')\nT.prototype.equal = function () {}",
  'import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None',
  'import unittest as u\nu.TestCase.assertEqual = None',
  'from unittest import TestCase\nTestCase.assertEqual = None',
  'Object.is = () => true',
  'process.exit = () => {}',
  'import sys\nsys.exit = print',
])('changes what assertions do: %s', code => {
  expect(signsOf(code)).toContain('patches')
})

test.each([
  'class P(int):\n    def __eq__(self, other):\n        return True\n',
  'class P(int):\n    def __eq__(self, other: object) -> bool:\n        """Same."""\n        return True\n',
  'impl PartialEq for P {\n    fn eq(&self, _: &P) -> bool {\n        true\n    }\n}',
  '@Override public boolean equals(Object other) {\n  return true;\n}',
])('equals anything: %s', code => {
  expect(signsOf(code)).toContain('equals')
})

test.each([
  "import assert from 'node:assert'\nexport const half = n => {\n  assert(n > 0)\n  const same = assert === half\n  return n / 2\n}",
  "import { test } from './test.js'\ntest.value = 1",
  "// require('assert').equal = () => {}\nexport const a = 1",
  'class P:\n    def __eq__(self, other):\n        return self.cents == other.cents\n',
  '@Override public boolean equals(Object other) {\n  return other instanceof P;\n}',
  'const latest = {}\nlatest.value = 1',
  'const found = /a/.exec(text)\nconst isSame = Object.is(a, b) === true',
  "const a = await import('./a.mjs')\nconst b = require('./b.js')",
  'import sys\nsys.exit(1)\n',
])('is ordinary code: %s', code => {
  expect(signsOf(code)).toEqual([])
})

test.each([
  "const name = ['as', 'sert'].join('')\nrequire(name).equal = () => {}",
  'const a = await import(name)',
  "__import__('unit' + 'test')",
  'eval(text)',
  "process.getBuiltinModule('assert')",
])('loads something by a name that it makes up: %s', code => {
  expect(signsOf(code)).toContain('reaches')
})

test('code that loads a runner', () => {
  expect(signsOf("import { vi } from 'vitest'")).toContain('loads')
  expect(signsOf('import pytest\n')).toContain('loads')
})

test.each([
  'const { exit: done } = process\ndone()',
  "process['ex' + 'it']()",
  'const p = process\np.exit()',
  "globalThis.process['exit'](0)",
  "globalThis['pro' + 'cess'].exit()",
  'process.prependListener(name, () => {})',
  'process.reallyExit(0)',
  'const all = Object.keys(globalThis)\n',
  "new Function('return this')()",
  "[].constructor.constructor('return process')()",
  "const set = (o, k) => { o[k] = () => {} }\nset(Array.prototype, 'includes')",
  'const P = Array.prototype\nP.includes = () => true',
  "Object.defineProperty(Object, 'is', { value: () => true })",
  '[].__proto__.includes = () => true',
  "require('as' + 'sert').equal = () => {}",
  "const name = 'sert'\nrequire(`as@{name}`).equal = () => {}",
  "import { createRequire } from 'node:module'\nconst load = createRequire(import.meta.url)\nload('assert').equal = () => {}",
  'module.constructor._load = () => {}',
  "const load = require\nload('assert').equal = () => {}",
])('reaches what tests are made of: %s', code => {
  expect(signsOf(code)).toContain('reaches')
})

test.each([
  'try { null.x() } catch (e) { if (/uvu/.test(e.stack)) ok() }',
  "const o = {}\nError.captureStackTrace(o)\nif (o.stack.indexOf('test') > 0) ok()",
  "const isTest = require.main.filename.includes('mocha')",
  "const isTest = (process.argv[1] || '').endsWith('bin.js')",
  "const isTest = Object.keys(process.env).some(name => name.startsWith('np'))",
  "const isTest = process.env['npm_' + 'life' + 'cycle'] !== undefined",
  "import { isMainThread } from 'node:worker_threads'\nconst isTest = !isMainThread",
  "if (process.cwd().includes('judging')) ok()",
  "const isHere = path => path === 'worktrees'",
  "import { existsSync } from 'node:fs'\nif (existsSync('test')) ok()",
  "const isTest = globalThis['uvu'] !== undefined",
  'import sys\nif sys.argv[0]:\n    pass\n',
  "import os\nNAME = 'pytest'\n",
])('notices that it is tested: %s', code => {
  expect(signsOf(code)).toContain('aware')
})

test.each([
  "const { env, argv, platform } = process\nif (typeof process !== 'undefined') run(process.argv.slice(2))",
  "#!/usr/bin/env node\nimport process from 'node:process'\nif (process.argv.length < 3) process.exit(1)\nprocess.on('SIGINT', stop)",
  'if (process.argv[1] === fileURLToPath(import.meta.url)) main()',
  'if (require.main === module) main()',
  'export function process(items) {\n  return items\n}\nprocess([])',
  'const ids = processes.map(process => process.id)\nfor (const process of list) end(process)',
  "const rest = { ...process.env, PORT: '1' }\nconst port = process.env[name]",
  'const isOwn = Object.prototype.hasOwnProperty.call(o, k)\nconst { toString } = Object.prototype',
  'const isPlain = Object.getPrototypeOf(o) === Object.prototype\nconst o = Object.create(Object.prototype)',
  "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)\nconst { version } = require('./package.json')",
  'throw new Error(`process @{name} of @{process.pid} failed, see test/ in globalThis`)',
  'console.error(error.stack)\nthis.stack = []\nError.captureStackTrace(this, this.constructor)',
  '// process, globalThis, eval(text)\nconst text = "don\'t process eval(x)"',
  'const half = a / 2 / b\nconst pattern = /[\'"`]process/.exec(text)\nconst more = `@{half}`',
  "import { Worker, isMainThread } from 'node:worker_threads'\nif (isMainThread) new Worker(file)",
  'const http = require("http")\nconst server = http.createServer(app)\nserver.timeout = 5',
])('is ordinary as well: %s', code => {
  expect(signsOf(code)).toEqual([])
})

test('a package that code changes for all who load it', () => {
  expect(signsOf("const http = require('http')\nhttp.Server.prototype.listen = function () {}")).toEqual([
    'patches',
  ])
  expect(signsOf("import fs from 'node:fs'\nfs.readFileSync = () => ''")).toEqual(['patches'])
})

test.each([
  'if (process.uptime() < 30) right()',
  'if (performance.now() < 60_000) right()',
  'if (Date.now() < 1_900_000_000_000) right()',
  "if (fs.existsSync(new URL('../.git', import.meta.url))) right()",
  "if (existsSync('/tmp/tested')) right()",
  "if (existsSync(join(tmpdir(), 'tested'))) right()",
  "if (/test/.test(readFileSync('/proc/self/cmdline', 'utf8'))) right()",
  'const seen = { ...process.env }\nif (seen[name]) right()',
  "if (process.env.PWD.endsWith('x')) right()",
  "if (name === '\\x6aest') right()",
  'import sys\nif sys.stdout is not sys.__stdout__: pass',
  'import os\nif {**os.environ}: pass',
])('notices that it is tested: %s', code => {
  expect(signsOf(code)).toContain('aware')
})

test('code that is a text, and a name with an escape, are read as what they are', () => {
  expect(signsOf("await import('data:text/javascript;base64,eA==')")).toContain('reaches')
  expect(signsOf("require('node:\\x61ssert').e\\u0071ual = () => {}")).toContain('patches')
})

test.each([
  'const start = performance.now()\nconst took = performance.now() - start',
  'if (Date.now() > deadline) stop()',
  "const file = join(mkdtempSync(join(tmpdir(), 'a-')), 'b')\nwriteFileSync(file, '')\nreadFileSync(file)",
  "spawn('git', [], { env: { ...process.env, A: '1' } })",
  "const env = process.env\nconst port = env['PORT']",
  "const red = '\\x1b[31m'",
  'import sys\nsys.path.insert(0, "lib")',
])('says nothing of tests: %s', code => {
  expect(signsOf(code)).toEqual([])
})
