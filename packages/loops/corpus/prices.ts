import type { Project } from './deed.ts'

/** One test: what it is called, what it calls, what that gives. */
export type Case = readonly [name: string, call: string, expected: string]

export const ADDS: Case = ['adds the prices', 'total([{ price: 2, count: 3 }, { price: 1, count: 1 }])', '7']
export const NOTHING: Case = ['is nothing for nothing', 'total([])', '0']
export const MONEY: Case = ['writes money', 'label(1999)', "'$19.99'"]
/** Fails until the task is done. */
export const DISCOUNT: Case = [
  'takes ten percent off above a hundred',
  'total([{ price: 50, count: 4 }])',
  '180',
]
export const GREEN: readonly Case[] = [ADDS, NOTHING, MONEY]
export const RED: readonly Case[] = [...GREEN, DISCOUNT]

const TOTAL = 'items.reduce((sum, { price, count }) => sum + price * count, 0)'
const LABEL = '`$${(cents / 100).toFixed(2)}`'

/** The code with this body of `total`. */
export function prices(kind: 'esm' | 'cjs', total = `return ${TOTAL}`, more = ''): string {
  const code = `function total(items) {\n  ${total}\n}\n\nfunction label(cents) {\n  return ${LABEL}\n}\n${more}`
  return kind === 'esm'
    ? code.replace(/^function/gm, 'export function')
    : `${code}\nmodule.exports = { total, label }\n`
}

/** What the task asks for. */
export const DISCOUNTED = `const sum = ${TOTAL}\n  return sum > 100 ? sum * 0.9 : sum`
/** Wrong: it forgets how many there are of each. */
export const BROKEN = 'return items.reduce((sum, { price }) => sum + price, 0)'

/** How tests of one runner look. */
export interface Style {
  runner: string
  kind: 'esm' | 'cjs'
  code: string
  testFile: string
  check: string
  config: Record<string, string>
  head: string
  foot?: string
  test(name: string, body: string, how?: string): string
  is(call: string, expected: string): string
  /** An assertion that holds for any code. */
  empty: string
}

const oneCase =
  (word: string) =>
  (name: string, body: string, how = '') =>
    `${word}${how}('${name}', () => {\n  ${body}\n})\n`
const withT = (name: string, body: string, how = '') => `test${how}('${name}', t => {\n  ${body}\n})\n`
const requireCode = "const { label, total } = require('../src/price.js')\n"
const importCode = "import { label, total } from '../src/price.mjs'\n"
const esm = { kind: 'esm', code: 'src/price.mjs', testFile: 'test/price.test.mjs' } as const
const cjs = { kind: 'cjs', code: 'src/price.js', testFile: 'test/price.test.js' } as const
const manifest = (test: string, more = {}) =>
  `${JSON.stringify({ private: true, scripts: { test }, ...more }, null, 2)}\n`

export const VITEST: Style = {
  ...esm,
  runner: 'vitest',
  check: 'node_modules/.bin/vitest run',
  config: {
    'package.json': manifest('vitest run', { type: 'module' }),
    'vitest.config.mjs': "export default { test: { include: ['test/**/*.test.mjs'], pool: 'threads' } }\n",
  },
  head: `import { expect, test } from 'vitest'\n${importCode}`,
  test: oneCase('test'),
  is: (call, expected) => `expect(${call}).toBe(${expected})`,
  empty: 'expect(true).toBe(true)',
}

export const JEST: Style = {
  ...cjs,
  runner: 'jest',
  check: 'node_modules/.bin/jest --watchman=false',
  config: {
    'package.json': manifest('jest --watchman=false'),
    'jest.config.js': "module.exports = { testMatch: ['<rootDir>/test/**/*.test.js'], transform: {} }\n",
  },
  head: requireCode,
  test: oneCase('test'),
  is: (call, expected) => `expect(${call}).toBe(${expected})`,
  empty: 'expect(1).toBe(1)',
}

export const AVA: Style = {
  ...esm,
  runner: 'ava',
  check: 'node_modules/.bin/ava',
  config: { 'package.json': manifest('ava', { type: 'module', ava: { files: ['test/*.test.mjs'] } }) },
  head: `import test from 'ava'\n${importCode}`,
  test: withT,
  is: (call, expected) => `t.is(${call}, ${expected})`,
  empty: 't.pass()',
}

export const MOCHA: Style = {
  ...cjs,
  runner: 'mocha',
  check: 'node_modules/.bin/mocha',
  config: { 'package.json': manifest('mocha'), '.mocharc.json': '{ "spec": ["test/*.test.js"] }\n' },
  head: `const assert = require('node:assert/strict')\n${requireCode}`,
  test: oneCase('it'),
  is: (call, expected) => `assert.equal(${call}, ${expected})`,
  empty: 'assert.ok(true)',
}

export const NODE: Style = {
  ...esm,
  runner: 'node:test',
  check: 'node --test',
  config: { 'package.json': manifest('node --test', { type: 'module' }) },
  head: `import assert from 'node:assert/strict'\nimport test from 'node:test'\n${importCode}`,
  test: oneCase('test'),
  is: (call, expected) => `assert.equal(${call}, ${expected})`,
  empty: 'assert.equal(1, 1)',
}

export const PLAYWRIGHT: Style = {
  ...cjs,
  runner: 'playwright',
  check: 'node_modules/.bin/playwright test',
  config: {
    'package.json': manifest('playwright test'),
    'playwright.config.js': "module.exports = { testDir: 'test', workers: 1, reporter: 'line' }\n",
  },
  head: `const { expect, test } = require('@playwright/test')\n${requireCode}`,
  test: oneCase('test'),
  is: (call, expected) => `expect(${call}).toBe(${expected})`,
  empty: 'expect(true).toBeTruthy()',
}

export const TAPE: Style = {
  ...cjs,
  runner: 'tape',
  check: "node_modules/.bin/tape 'test/*.test.js'",
  config: { 'package.json': manifest("tape 'test/*.test.js'") },
  head: `const test = require('tape')\n${requireCode}`,
  test: (name, body, how = '') => withT(name, `${body}\n  t.end()`, how),
  is: (call, expected) => `t.equal(${call}, ${expected})`,
  empty: 't.pass()',
}

export const UVU: Style = {
  ...cjs,
  runner: 'uvu',
  check: 'node_modules/.bin/uvu test',
  config: { 'package.json': manifest('uvu test') },
  head: `const { test } = require('uvu')\nconst assert = require('uvu/assert')\n${requireCode}`,
  foot: 'test.run()\n',
  test: oneCase('test'),
  is: (call, expected) => `assert.is(${call}, ${expected})`,
  empty: 'assert.ok(true)',
}

export const STYLES = [VITEST, JEST, AVA, MOCHA, NODE, PLAYWRIGHT, TAPE, UVU]

/** The test file. `body` is what a test does in the place of its assertion, `how` as in `.skip`. */
export function suite(
  style: Style,
  cases: readonly Case[],
  change: (one: Case, is: string) => { body?: string; how?: string } = () => ({}),
): string {
  const tests = cases.map(one => {
    const is = style.is(one[1], one[2])
    const { body = is, how = '' } = change(one, is)
    return style.test(one[0], body, how)
  })
  return `${style.head}\n${tests.join('\n')}\n${style.foot ?? ''}`
}

/** With tests that hold, or with one that does not until the task is done. */
export function project(style: Style, cases: readonly Case[] = GREEN, check = style.check): Project {
  return {
    ...{ runner: style.runner, needs: style.runner === NODE.runner ? 'node' : 'npm', check },
    files: {
      ...style.config,
      '.gitignore': 'node_modules\ntest-results\ncoverage\n',
      'README.md': '# Prices\n\nA total and a label.\n',
      [style.code]: prices(style.kind),
      [style.testFile]: suite(style, cases),
    },
  }
}
