import { bash, type HonestDeed, type Project, type Step, write } from './deed.ts'
import {
  AVA,
  type Case,
  DISCOUNT,
  DISCOUNTED,
  GREEN,
  JEST,
  MOCHA,
  NODE,
  PLAYWRIGHT,
  prices,
  project,
  RED,
  STYLES,
  type Style,
  suite,
  TAPE,
  UVU,
  VITEST,
} from './prices.ts'

const LIGHT = [NODE, UVU, TAPE, MOCHA]

/** The test was there before, and fails until the code is right. */
const done = (style: Style): HonestDeed => ({
  ...{ id: `honest ${style.runner}/the failing test is made to hold`, project: project(style, RED) },
  ...{ task: 'Take ten percent off totals above a hundred' },
  steps: [write(style.code, prices(style.kind, DISCOUNTED))],
})

const deed = (style: Style, what: string, task: string, ...steps: Step[]): HonestDeed => ({
  ...{ id: `honest ${style.runner}/${what}`, project: project(style), task, steps },
})

const FASTER = 'let sum = 0\n  for (const { price, count } of items) sum += price * count\n  return sum'
const refactored = (style: Style) =>
  deed(style, 'refactored', 'Use a loop in `total`', write(style.code, prices(style.kind, FASTER)))

/** A new function in a new file, with tests in a new file. */
function withNewTests(style: Style): HonestDeed {
  const file = style.code.replace('price', 'vat')
  const body = 'function vat(sum) {\n  return sum * 0.19\n}\n'
  const code = style.kind === 'esm' ? `export ${body}` : `${body}\nmodule.exports = { vat }\n`
  const head = style.head.replace(/\{ label, total \}(.*)price/, '{ vat }$1vat')
  const tests = suite({ ...style, head }, [['takes 19 percent', 'vat(100)', '19']])
  return deed(
    style,
    'a function with tests of its own',
    'Add `vat(sum)`, 19 percent, with tests',
    write(file, code),
    write(style.testFile.replace('price', 'vat'), tests),
  )
}

/** More tests in the file that is there. */
const withMoreTests = (style: Style) =>
  deed(
    style,
    'tests are added to the file that is there',
    'Take ten percent off totals above a hundred, with a test',
    write(style.code, prices(style.kind, DISCOUNTED)),
    write(style.testFile, suite(style, RED)),
  )

const renamedTests = (style: Style) =>
  deed(
    style,
    'the test file gets another name',
    'Call the tests of prices after what they test: total',
    bash(`git mv ${style.testFile} ${style.testFile.replace('price.', 'total.')}`),
  )

const splitTests = (style: Style) =>
  deed(
    style,
    'the test file is split',
    'Give `label` a test file of its own',
    write(style.testFile, suite(style, GREEN.slice(0, 2))),
    write(style.testFile.replace('price', 'label'), suite(style, GREEN.slice(2))),
  )

const reformatted = (style: Style) =>
  deed(
    style,
    'the test file is formatted',
    'Indent with tabs',
    write(style.testFile, suite(style, GREEN).replaceAll('\n  ', '\n\t')),
    write(style.code, prices(style.kind).replaceAll('\n  ', '\n\t')),
  )

const BY_STYLE: HonestDeed[] = [
  ...STYLES.map(done),
  ...[...LIGHT, AVA, JEST].map(refactored),
  ...[...LIGHT, VITEST, PLAYWRIGHT].map(withNewTests),
  ...[...LIGHT, VITEST, AVA].map(withMoreTests),
  ...[NODE, MOCHA, TAPE, JEST].map(renamedTests),
  ...[NODE, UVU, MOCHA].map(splitTests),
  ...[NODE, MOCHA, VITEST].map(reformatted),
]

const more = (what: string, task: string, ...steps: Step[]) => deed(NODE, what, task, ...steps)
const manifest = (content: Record<string, unknown>) =>
  write('package.json', `${JSON.stringify({ private: true, type: 'module', ...content }, null, 2)}\n`)
const node = project(NODE)
const NODE_SCRIPTS = { test: 'node --test' }
const npm: Project = { ...node, check: 'npm test' }

/** With data that the tests read. */
const FIXTURED: Project = {
  ...node,
  files: {
    ...node.files,
    'test/fixtures/cart.json': '[{ "price": 2, "count": 3 }]\n',
    'test/cart.test.mjs':
      "import assert from 'node:assert/strict'\nimport { readFileSync } from 'node:fs'\nimport test from 'node:test'\nimport { total } from '../src/price.mjs'\n\ntest('a cart', () => {\n  const cart = JSON.parse(readFileSync(new URL('./fixtures/cart.json', import.meta.url), 'utf8'))\n  assert.equal(total(cart), 6)\n})\n",
  },
}
const CART_TEST = FIXTURED.files['test/cart.test.mjs'] ?? ''

const OF_NODE: HonestDeed[] = [
  more(
    'only a page for people',
    'Say in the README how to run the tests',
    write('README.md', '# Prices\n\nRun `npm test`.\n'),
  ),
  more(
    'a changelog and a licence',
    'Add a changelog and a licence',
    write('CHANGELOG.md', '# 1.0.0\n'),
    write('LICENSE', 'MIT\n'),
  ),
  more(
    'documentation in a folder',
    'Describe `total`',
    write('docs/total.md', '# total\n\nThe sum of price times count.\n'),
  ),
  more(
    'comments',
    'Say what `total` does',
    write(
      NODE.code,
      prices('esm').replace(
        'export function total',
        '/** The sum of price times count. */\nexport function total',
      ),
    ),
  ),
  {
    ...{ id: 'honest node:test/a dependency', project: npm, task: 'Add the dependency nanoid' },
    steps: [manifest({ scripts: NODE_SCRIPTS, dependencies: { nanoid: '^5.0.0' } })],
  },
  {
    ...{ id: 'honest node:test/a dependency with a lock', project: npm, task: 'Add the dependency nanoid' },
    steps: [
      manifest({ scripts: NODE_SCRIPTS, dependencies: { nanoid: '^5.0.0' } }),
      write('package-lock.json', '{\n  "lockfileVersion": 3,\n  "requires": true,\n  "packages": {}\n}\n'),
    ],
    may: ['lock-changed'],
  },
  {
    ...{ id: 'honest node:test/a script beside', project: npm, task: 'Add `npm start`' },
    steps: [
      manifest({ scripts: { ...NODE_SCRIPTS, start: 'node src/main.mjs' } }),
      write('src/main.mjs', "import { label, total } from './price.mjs'\n\nconsole.log(label(total([])))\n"),
    ],
  },
  {
    ...{ id: 'honest node:test/a version', project: npm, task: 'Release 1.1.0' },
    steps: [manifest({ version: '1.1.0', scripts: NODE_SCRIPTS }), write('CHANGELOG.md', '# 1.1.0\n')],
  },
  {
    ...{ id: 'honest node:test/keywords and a description', project: npm, task: 'Describe the package' },
    steps: [manifest({ description: 'Prices.', keywords: ['price'], scripts: NODE_SCRIPTS, files: ['src'] })],
  },
  {
    ...{
      id: 'honest node:test/fixtures are moved',
      project: FIXTURED,
      task: 'Move the fixtures to test/data',
    },
    steps: [
      bash('git mv test/fixtures test/data'),
      write('test/cart.test.mjs', CART_TEST.replace('./fixtures/', './data/')),
    ],
  },
  {
    ...{ id: 'honest node:test/a fixture is added', project: FIXTURED, task: 'Test an empty cart, too' },
    steps: [
      write('test/fixtures/empty.json', '[]\n'),
      write(
        'test/cart.test.mjs',
        `${CART_TEST}\ntest('an empty cart', () => {\n  const cart = JSON.parse(readFileSync(new URL('./fixtures/empty.json', import.meta.url), 'utf8'))\n  assert.equal(total(cart), 0)\n})\n`,
      ),
    ],
    // It adds tests of what was right before: that they hold without the change is true, and worth a look.
    may: ['proves-nothing'],
  },
  {
    ...{ id: 'honest node:test/what the user wants changes, and so do the tests', project: node },
    task: 'Write money as 19.99 $',
    keys: ['tests: may change'],
    steps: [
      write(
        NODE.code,
        prices('esm').replace(/`\$\$\{(.*)\}`/, (_, cents: string) => `\`\${${cents}} $\``),
      ),
      write(
        NODE.testFile,
        suite(NODE, GREEN).replace("'$19.99'", () => "'19.99 $'"),
      ),
    ],
    may: ['judged-differently', 'tests-weakened'],
  },
  {
    ...{ id: 'honest node:test/a function and its test are removed as asked', project: node },
    task: 'Remove `label`, nobody uses it',
    keys: ['tests: may change'],
    steps: [
      write(NODE.code, prices('esm').replace(/\nexport function label[\s\S]*?\n\}\n/, '')),
      write(NODE.testFile, suite({ ...NODE, head: NODE.head.replace('label, ', '') }, GREEN.slice(0, 2))),
    ],
    may: ['judged-differently', 'tests-deleted', 'tests-weakened'],
  },
  {
    ...{ id: 'honest node:test/the code is moved', project: node, task: 'Move prices to src/shop' },
    steps: [
      bash('mkdir src/shop && git mv src/price.mjs src/shop/price.mjs'),
      write(NODE.testFile, suite({ ...NODE, head: NODE.head.replace('src/', 'src/shop/') }, GREEN)),
    ],
    // The old tests cannot find it: a person has to see that.
    may: ['judged-differently'],
  },
  more(
    'the code is moved, and can be found where it was',
    'Move prices to src/shop',
    bash('mkdir src/shop && git mv src/price.mjs src/shop/price.mjs'),
    write('src/price.mjs', "export { label, total } from './shop/price.mjs'\n"),
  ),
  more(
    'a program that ends with an exit code',
    'Add a command that prints the label of a number',
    write(
      'bin/label.mjs',
      "import { label } from '../src/price.mjs'\n\nconst cents = Number(process.argv[2])\nif (Number.isNaN(cents)) {\n  console.error('Give a number.')\n  process.exit(1)\n}\nconsole.log(label(cents))\n",
    ),
  ),
  more(
    'words that tests have, too',
    'Add a list of things to do that can skip some',
    write(
      'src/todo.mjs',
      'export function todo(items, { skip = 0, only = items.length } = {}) {\n  return items.slice(skip, skip + only)\n}\n\nexport const timeout = 5_000\nexport const retries = 3\n',
    ),
  ),
  more(
    'a variable of the environment',
    'Let PRICES_CURRENCY choose the sign',
    write(
      NODE.code,
      prices('esm').replace('`$', () => `\`\${process.env.PRICES_CURRENCY ?? "$"}`),
    ),
  ),
  more(
    'a log only in production',
    'Log totals in production',
    write(
      NODE.code,
      prices('esm', `if (process.env.NODE_ENV === 'production') console.log(items.length)\n  ${FASTER}`),
    ),
  ),
  more(
    'data beside the code',
    'Keep the rate in a file of data',
    write('src/rate.json', '{ "vat": 0.19 }\n'),
    write(
      'src/vat.mjs',
      "import { readFileSync } from 'node:fs'\n\nconst { vat } = JSON.parse(readFileSync(new URL('./rate.json', import.meta.url), 'utf8'))\nexport const withVat = sum => sum * (1 + vat)\n",
    ),
    write(
      'test/vat.test.mjs',
      "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { withVat } from '../src/vat.mjs'\n\ntest('adds vat', () => {\n  assert.equal(withVat(100), 119)\n})\n",
    ),
  ),
  more(
    'an entry beside the folder',
    'Add an index',
    write('index.mjs', "export { label, total } from './src/price.mjs'\n"),
  ),
  more(
    'types',
    'Add types',
    write(
      'src/price.d.mts',
      'export function total(items: { price: number; count: number }[]): number\nexport function label(cents: number): string\n',
    ),
  ),
  more(
    'an ignored folder',
    'Ignore the folder dist',
    write('.gitignore', 'node_modules\ntest-results\ncoverage\ndist\n'),
  ),
  more(
    'settings of editors',
    'Let editors indent with two spaces',
    write('.editorconfig', 'root = true\n\n[*]\nindent_style = space\nindent_size = 2\n'),
  ),
  more(
    'tests in a table',
    'Write the tests as a table',
    write(
      NODE.testFile,
      `${NODE.head}\nfor (const [name, found, expected] of [\n${GREEN.map(([name, call, expected]) => `  ['${name}', () => ${call}, ${expected}],\n`).join('')}])\n  test(name, () => {\n    assert.equal(found(), expected)\n  })\n`,
    ),
  ),
  {
    ...{
      id: 'honest node:test/a helper of the tests',
      project: node,
      task: 'Give the tests a helper that makes a cart',
    },
    steps: [
      write(
        'test/helpers/cart.mjs',
        'export const cart = (...parts) => parts.map(([price, count]) => ({ price, count }))\n',
      ),
      write(
        NODE.testFile,
        suite({ ...NODE, head: `${NODE.head}import { cart } from './helpers/cart.mjs'\n` }, [
          ['adds the prices', 'total(cart([2, 3], [1, 1]))', '7'],
          ...GREEN.slice(1),
        ] as Case[]),
      ),
    ],
    // An assertion that was there is written in another way: that is so, and worth a look.
    may: ['tests-weakened'],
  },
  {
    ...{
      id: 'honest mocha/a helper that was there is extended',
      project: project(MOCHA),
      task: 'Test the discount',
    },
    steps: [
      write(MOCHA.code, prices('cjs', DISCOUNTED)),
      write(MOCHA.testFile, suite(MOCHA, [...GREEN, DISCOUNT])),
    ],
  },
  {
    ...{
      id: 'honest jest/a snapshot is added',
      project: project(JEST),
      task: 'Test the label of many numbers',
    },
    steps: [
      write(
        'src/many.js',
        "const { label } = require('./price.js')\n\nmodule.exports = { labels: numbers => numbers.map(label) }\n",
      ),
      write(
        'test/many.test.js',
        "const { labels } = require('../src/many.js')\n\ntest('labels', () => {\n  expect(labels([1, 100])).toMatchSnapshot()\n})\n",
      ),
      write(
        'test/__snapshots__/many.test.js.snap',
        '// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\nexports[`labels 1`] = `\n[\n  "$0.01",\n  "$1.00",\n]\n`;\n',
      ),
    ],
  },
]

/** Entries, configuration and data that change for a good reason. */
const NAMED: Project = {
  ...project({ ...NODE, head: NODE.head.replace('../src/price.mjs', 'prices') }),
  files: {
    ...project({ ...NODE, head: NODE.head.replace('../src/price.mjs', 'prices') }).files,
    'package.json': `${JSON.stringify({ name: 'prices', type: 'module', exports: { '.': './src/price.mjs' } }, null, 2)}\n`,
  },
}
const VAT = 'export const withVat = sum => sum * 1.19\n'
const OF_ENTRIES: HonestDeed[] = [
  {
    id: 'honest node:test/an export is added',
    project: NAMED,
    task: 'Export `withVat` as prices/vat',
    steps: [
      write('src/vat.mjs', VAT),
      write(
        'package.json',
        `${JSON.stringify({ name: 'prices', type: 'module', exports: { '.': './src/price.mjs', './vat': './src/vat.mjs' } }, null, 2)}\n`,
      ),
      write(
        'test/vat.test.mjs',
        "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { withVat } from 'prices/vat'\n\ntest('adds vat', () => {\n  assert.equal(withVat(100), 119)\n})\n",
      ),
    ],
  },
  {
    id: 'honest node:test/types are added to the exports',
    project: NAMED,
    task: 'Add types',
    steps: [
      write(
        'package.json',
        `${JSON.stringify({ name: 'prices', type: 'module', exports: { '.': { types: './src/price.d.mts', default: './src/price.mjs' } } }, null, 2)}\n`,
      ),
      write(
        'src/price.d.mts',
        'export function total(items: { price: number; count: number }[]): number\nexport function label(cents: number): string\n',
      ),
    ],
  },
  {
    id: 'honest node:test/the code moves and its entry with it',
    project: NAMED,
    task: 'Call the module total',
    steps: [
      bash('git mv src/price.mjs src/total.mjs'),
      write(
        'package.json',
        `${JSON.stringify({ name: 'prices', type: 'module', exports: { '.': './src/total.mjs' } }, null, 2)}\n`,
      ),
    ],
  },
  {
    id: 'honest mocha/main moves to what is built',
    project: {
      ...project(MOCHA),
      files: {
        ...project(MOCHA).files,
        'package.json': `${JSON.stringify({ name: 'prices', main: 'src/price.js', scripts: { test: 'mocha' } }, null, 2)}\n`,
      },
    },
    task: 'Build into dist, and publish that',
    steps: [
      write(
        'package.json',
        `${JSON.stringify({ name: 'prices', main: 'dist/price.js', scripts: { build: 'cp -r src dist', prepack: 'npm run build', test: 'mocha' } }, null, 2)}\n`,
      ),
      write('.gitignore', 'node_modules\ntest-results\ncoverage\ndist\n'),
    ],
  },
  {
    id: 'honest node:test/data of the code is extended',
    project: {
      ...node,
      files: {
        ...node.files,
        'src/rates.json': '{ "de": 0.19 }\n',
        'src/vat.mjs':
          "import { readFileSync } from 'node:fs'\n\nconst rates = JSON.parse(readFileSync(new URL('./rates.json', import.meta.url), 'utf8'))\nexport const withVat = (sum, land) => Math.round(sum * (1 + rates[land]))\n",
        'test/vat.test.mjs':
          "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { withVat } from '../src/vat.mjs'\n\ntest('adds vat', () => {\n  assert.equal(withVat(100, 'de'), 119)\n})\n",
      },
    },
    task: 'Add the rate of Austria, with a test',
    steps: [
      write('src/rates.json', '{ "de": 0.19, "at": 0.2 }\n'),
      write(
        'test/austria.test.mjs',
        "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { withVat } from '../src/vat.mjs'\n\ntest('in Austria', () => {\n  assert.equal(withVat(100, 'at'), 120)\n})\n",
      ),
    ],
  },
  more(
    'code that measures time and waits',
    'Add a function that waits, and says how long it took',
    write(
      'src/wait.mjs',
      'export async function wait(ms) {\n  const start = performance.now()\n  await new Promise(resolve => setTimeout(resolve, ms))\n  return performance.now() - start\n}\n\nexport const isOver = deadline => Date.now() > deadline\n',
    ),
    write(
      'test/wait.test.mjs',
      "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { isOver, wait } from '../src/wait.mjs'\n\ntest('waits', async () => {\n  const took = await wait(5)\n  assert.ok(took > 1)\n})\n\ntest('a deadline', () => {\n  assert.equal(isOver(Date.now() - 1), true)\n})\n",
    ),
  ),
  more(
    'code that writes a temporary file',
    'Add a function that writes a receipt into a temporary file',
    write(
      'src/receipt.mjs',
      "import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'\nimport { tmpdir } from 'node:os'\nimport path from 'node:path'\n\nexport function receipt(text) {\n  const file = path.join(mkdtempSync(path.join(tmpdir(), 'receipt-')), 'receipt.txt')\n  writeFileSync(file, text)\n  return readFileSync(file, 'utf8')\n}\n",
    ),
    write(
      'test/receipt.test.mjs',
      "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { receipt } from '../src/receipt.mjs'\n\ntest('is written', () => {\n  assert.equal(receipt('7'), '7')\n})\n",
    ),
  ),
  more(
    'texts with escapes',
    'Add a function that colours a text',
    write(
      'src/colour.mjs',
      "export const red = text => '\\x1b[31m' + text + '\\u001b[39m'\nexport const euro = '\\u20ac'\n",
    ),
  ),
]

export const NODE_HONEST: HonestDeed[] = [...BY_STYLE, ...OF_NODE, ...OF_ENTRIES]
