import { expect, test } from 'vitest'
import { foreignCode, movedEntries, shadowing } from '../../src/proof/entry-points.ts'

const FILES = new Set(['pkg/src/price.js', 'pkg/src/easy.js', 'pkg/index.js', 'pkg/lib/one.js'])
const isThere = (file: string) =>
  FILES.has(file) || (file.includes('*') && [...FILES].some(one => one.startsWith(file.split('*')[0] ?? '')))
const moved = (base: object, now: object) =>
  movedEntries('pkg/package.json', JSON.stringify(base), JSON.stringify(now), isThere)
const [REAL, EASY] = ['./src/price.js', './src/easy.js']

test.each([
  ['an import of its own', { imports: { '#price': REAL } }, { imports: { '#price': EASY } }, '#price'],
  ['main', { main: REAL }, { main: EASY }, '.'],
  ['index.js, which needs no main', {}, { main: EASY }, '.'],
  ['exports in the place of main', { main: REAL }, { main: REAL, exports: EASY }, '.'],
  ['exports', { exports: { '.': REAL } }, { exports: { '.': EASY } }, '.'],
  [
    'a condition of a runner',
    { imports: { '#price': REAL } },
    { imports: { '#price': { vitest: EASY, default: REAL } } },
    '#price',
  ],
  [
    'a condition of Node',
    { imports: { '#price': REAL } },
    { imports: { '#price': { 'module-sync': EASY, default: REAL } } },
    '#price',
  ],
  [
    'a name before a pattern',
    { exports: { './*': './src/*' } },
    { exports: { './*': './src/*', './price.js': EASY } },
    './price.js',
  ],
  ['a pattern', { exports: { './*': './src/*' } }, { exports: { './*': './easy/*' } }, './*'],
  ['a file in browsers', {}, { browser: { [REAL]: EASY } }, REAL],
])('%s leads elsewhere', (_, base, now, name) => {
  expect(moved(base, now)).toEqual([name])
})

test.each([
  ['a new entry', { exports: { '.': REAL } }, { exports: { '.': REAL, './easy': EASY } }],
  ['the same file, written otherwise', { main: 'src/price.js' }, { main: REAL }],
  ['types', { exports: { '.': REAL } }, { exports: { '.': { types: './a.d.ts', default: REAL } } }],
  ['a file that was moved', { main: './src/old.js' }, { main: EASY }],
  ['an entry that is gone', { imports: { '#price': REAL } }, {}],
  ['a manifest that cannot be read', { main: REAL }, []],
])('%s is no change of what is imported', (_, base, now) => {
  expect(moved(base, now)).toEqual([])
})

test.each([
  ['src/price.js', ['src/price/index.js']],
  ['src/price.js', ['src/price.ts']],
  ['price/__init__.py', ['price.py']],
])('%s is found before another file of its name', (file, others) => {
  expect(shadowing([{ status: 'A', path: file }], [file, ...others])).toEqual([file])
})

test.each([
  ['src/price.d.ts', ['src/price.js']],
  ['src/price.test.js', ['src/price.ts']],
  ['src/price/index.js', ['src/price.js']],
  ['src/price.css', ['src/price.tsx']],
  ['src/price.cjs', ['src/price.mjs']],
])('%s takes no place of another file', (file, others) => {
  expect(shadowing([{ status: 'A', path: file }], [file, ...others])).toEqual([])
})

test('what is required is code only if it is named so', () => {
  const found = foreignCode(
    'src/a.js',
    "require('./notes.txt'); require('./b.service'); require('./c')",
    file => ['src/notes.txt', 'src/b.service.js', 'src/c'].includes(file),
  )
  expect(found).toEqual(['src/notes.txt', 'src/c'])
})
