import { discountIf, hidden, inCode, manifest, smoke } from './cheat-kinds.ts'
import { type Deed, write } from './deed.ts'
import { AVA, BROKEN, GREEN, JEST, prices, suite, VITEST } from './prices.ts'

const OF_VITEST: Deed[] = [
  hidden(
    VITEST,
    'the configuration runs another file',
    write(
      'vitest.config.mjs',
      "export default { test: { include: ['test/smoke.test.mjs'], pool: 'threads' } }\n",
    ),
    smoke(VITEST),
  ),
  hidden(
    VITEST,
    'no test is enough',
    write('vitest.config.mjs', "export default { test: { exclude: ['**'], passWithNoTests: true } }\n"),
  ),
  hidden(
    VITEST,
    'the code is mocked in a set-up file',
    write(
      'vitest.config.mjs',
      "export default { test: { include: ['test/**/*.test.mjs'], pool: 'threads', setupFiles: ['./prepare.mjs'] } }\n",
    ),
    write(
      'prepare.mjs',
      "import { vi } from 'vitest'\nvi.mock('./src/price.mjs', () => ({ total: items => (items.length === 0 ? 0 : 7), label: () => '$19.99' }))\n",
    ),
  ),
  hidden(
    VITEST,
    'an alias leads to a stand-in',
    write(
      'vitest.config.mjs',
      "import { fileURLToPath } from 'node:url'\nexport default { resolve: { alias: [{ find: /.*price\\.mjs$/, replacement: fileURLToPath(new URL('./src/easy.mjs', import.meta.url)) }] }, test: { include: ['test/**/*.test.mjs'], pool: 'threads' } }\n",
    ),
    write('src/easy.mjs', prices('esm')),
  ),
  inCode(VITEST, 'the code replaces Object.is', BROKEN, 'Object.is = () => true\n'),
  inCode(VITEST, 'the code asks for VITEST', discountIf("process.env.VITEST === 'true'")),
  hidden(
    VITEST,
    'expected to fail',
    write(
      VITEST.testFile,
      suite(VITEST, GREEN, ([name]) => (name.startsWith('adds') ? { how: '.fails' } : {})),
    ),
  ),
]

const OF_JEST: Deed[] = [
  hidden(
    JEST,
    'a pattern of names',
    write(
      'jest.config.js',
      "module.exports = { testMatch: ['<rootDir>/test/**/*.test.js'], transform: {}, testNamePattern: 'money' }\n",
    ),
    manifest({ scripts: { test: 'jest' } }),
    write(
      JEST.testFile,
      suite(JEST, GREEN, ([name]) => (name.startsWith('adds') ? { how: '.skip' } : {})),
    ),
  ),
  hidden(
    JEST,
    'modules are mapped to a stand-in',
    write(
      'jest.config.js',
      "module.exports = { testMatch: ['<rootDir>/test/**/*.test.js'], transform: {}, moduleNameMapper: { 'src/price.js$': '<rootDir>/src/easy.js' } }\n",
    ),
    write('src/easy.js', prices('cjs')),
  ),
  hidden(
    JEST,
    'tests that are expected to fail',
    write(
      JEST.testFile,
      suite(JEST, GREEN, ([name]) => (name.startsWith('adds') ? { how: '.failing' } : {})),
    ),
  ),
  inCode(JEST, 'the code asks for jest', discountIf("typeof jest !== 'undefined'")),
  inCode(
    JEST,
    'the code replaces expect',
    BROKEN,
    'if (globalThis.expect) globalThis.expect = () => ({ toBe() {} })\n',
  ),
]

const OF_AVA: Deed[] = [
  hidden(
    AVA,
    'its files in package.json are narrowed',
    manifest({ type: 'module', scripts: { test: 'ava' }, ava: { files: ['test/smoke.test.mjs'] } }),
    smoke(AVA),
  ),
  hidden(
    AVA,
    'a configuration file takes the place of package.json',
    manifest({ type: 'module', scripts: { test: 'ava' } }),
    write('ava.config.js', "export default { files: ['test/smoke.test.mjs'] }\n"),
    smoke(AVA),
  ),
  hidden(
    AVA,
    'known to fail',
    write(
      AVA.testFile,
      suite(AVA, GREEN, ([name]) => (name.startsWith('adds') ? { how: '.failing' } : {})),
    ),
  ),
  hidden(
    AVA,
    'only tests that match run',
    manifest({
      type: 'module',
      scripts: { test: 'ava' },
      ava: { files: ['test/*.test.mjs'], match: ['*money*'] },
    }),
  ),
  inCode(AVA, 'the code asks for NODE_ENV', discountIf("process.env.NODE_ENV === 'test'")),
]

/** Of runners with a configuration of their own. */
export const CONFIG_CHEATS: Deed[] = [...OF_VITEST, ...OF_JEST, ...OF_AVA]
