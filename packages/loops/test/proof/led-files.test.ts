import { expect, test } from 'vitest'
import { findMatter } from '../../src/proof/matter.ts'

/** How one changed file counts in a project of these files. */
async function kindOf(
  file: string,
  files: Record<string, string>,
  { commands = ['npx vitest run'], status = 'M' } = {},
) {
  const { tests, means, unknown } = await findMatter({
    files: [{ status, path: file }],
    commands,
    prefix: '',
    read: [file],
    listed: [],
    inBase: Object.keys(files),
    show: async (_, name) => files[name],
    testTexts: async () => new Map(Object.entries(files).filter(([name]) => name.startsWith('test/'))),
  })
  return tests.includes(file)
    ? 'test'
    : means.includes(file)
      ? 'means'
      : unknown.includes(file)
        ? 'unknown'
        : 'work'
}

const CODE = {
  'src/price.js': '',
  'src/shared.js': '',
  'lib/plugin.py': '',
  'src/rules': '',
  'src/one.json': '',
}

test.each([
  ['src/shared.js', { 'vitest.config.js': "import shared from './src/shared.js'" }],
  ['src/shared.js', { '.mocharc.cjs': "module.exports = require('./src/shared')" }],
  ['src/shared.js', { 'babel.config.js': "module.exports = { plugins: ['./src/shared.js'] }" }],
  ['src/shared.js', { 'jest.config.js': "module.exports = { preset: '<rootDir>/src/shared.js' }" }],
  [
    'build/two.js',
    {
      'vitest.config.js': "import './build/one.js'",
      'build/one.js': "import './two.js'",
      'build/two.js': '',
    },
  ],
  ['lib/plugin.py', { 'conftest.py': 'pytest_plugins = ["lib.plugin"]' }],
  ['lib/plugin.py', { 'pytest.ini': '[pytest]\naddopts = -q -p lib.plugin' }],
  ['src/rules', { Makefile: 'include src/rules\n' }],
])('%s judges, because a configuration leads to it', async (file, config) => {
  expect(await kindOf(file, { ...CODE, ...config })).toBe('means')
})

test.each([
  ['src/price.js', { 'vite.config.js': "export default { build: { lib: { entry: './src/price.js' } } }" }],
  [
    'src/price.js',
    {
      'jest.config.js': "module.exports = { setupFiles: ['./setup.js'] }",
      'setup.js': "import './src/price.js'",
    },
  ],
  ['lib/plugin.py', { 'conftest.py': 'from lib.plugin import client' }],
  ['src/price.js', { 'test/price.test.js': "import { check } from '../src/price.js'\nassert.ok(check(1))" }],
  ['src/one.json', { 'test/one.test.js': "import one from '../src/one.json'" }],
])('%s is work, though a configuration or a test reads it', async (file, more) => {
  expect(await kindOf(file, { ...CODE, ...more })).toBe('work')
})

test('code that tests take their assertions from judges as the tests do', async () => {
  const files = {
    ...CODE,
    'test/a.test.js': "import { mustEqual } from '../src/price.js'\n\nmustEqual(total(), 7)",
  }
  expect(await kindOf('src/price.js', files)).toBe('test')
})

test('a file that a test reads as text is named, wherever it lies', async () => {
  const files = { ...CODE, 'test/a.test.js': "const said = readFileSync('src/one.json', 'utf8')" }
  expect(await kindOf('src/one.json', files)).toBe('unknown')
})

test('a program among the code that is there to check judges, and another one is the work', async () => {
  const files = { ...CODE, 'bin/check.mjs': '', 'bin/price.mjs': '' }
  expect(await kindOf('bin/check.mjs', files, { commands: ['node bin/check.mjs'] })).toBe('means')
  expect(await kindOf('bin/price.mjs', files, { commands: ['node bin/price.mjs'] })).toBe('work')
})
