import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const docs = path.join(root, 'docs')
const page = readFileSync(path.join(docs, 'specification.md'), 'utf8')

interface Row {
  clause: string
  /** Why it is different, or what lacks; undefined for a clause that is done. */
  why: string | undefined
  test: string
}

describe('the map of the specification', () => {
  test('names only files that are there', () => {
    const files = linksIn(page)
    expect(files.length).toBeGreaterThan(300)
    expect(files.filter(file => !existsSync(path.join(docs, file)))).toEqual([])
  })

  test('names for each clause, done or not, a test that is there', () => {
    const rows = rowsOf(page)
    expect(rows.length).toBeGreaterThan(350)
    expect(rows.flatMap(faultsOf)).toEqual([])
  })

  test('has a reason for each clause that differs or is open', () => {
    const different = rowsOf(page).filter(({ why }) => why !== undefined)
    expect(different.length).toBeGreaterThan(40)
    expect(different.filter(({ why = '' }) => why.length < 10)).toEqual([])
  })

  const GOOD = '[x](../packages/core/test/specification.test.ts)'
  test.each([
    ['no test', '', 'no test'],
    ['a test that is none', '[x](../packages/core/src/index.ts) “x”', 'no test file'],
    ['a file that is gone', '[x](../packages/core/test/gone.test.ts) “x”', 'no such file'],
    ['a file and no test in it', GOOD, 'names no test'],
    ['a test that was renamed', `${GOOD} “has a treason”`, 'has no test “has a treason”'],
    ['a good test and one that is gone', `${GOOD} “names only files that are there”, “x”`, 'has no test “x”'],
  ])('a row with %s is a fault', (_what, cell, fault) => {
    const [row] = rowsOf(`| clause | | code | test |\n|---|---|---|---|\n| 1 | text |  | ${cell} |\n`)
    expect(row && faultsOf(row)).toEqual([expect.stringContaining(fault)])
  })
})

test('the repository has the files and folders of the specification', () => {
  const folders = ['apps/web', 'apps/cli', 'docs', 'fixtures', 'packages']
  const packages = ['core', 'runner', 'personas', 'sessions', 'server'].map(name => `packages/${name}`)
  const files = ['README.md', 'package.json', 'pnpm-workspace.yaml', 'turbo.json', 'tsconfig.base.json']
  const wanted = [...folders, ...packages, ...files]
  expect(wanted.filter(name => !existsSync(path.join(root, name)))).toEqual([])
})

test('each package has tests of its own, which turbo runs alone', () => {
  expect(readJson('turbo.json').tasks).toHaveProperty('test')
  const folders = ['packages', 'apps']
    .flatMap(group => readdirSync(path.join(root, group)).map(name => `${group}/${name}`))
    .filter(folder => existsSync(path.join(root, folder, 'package.json')))
  expect(folders.length).toBeGreaterThan(10)
  for (const folder of folders) {
    const { scripts } = readJson(`${folder}/package.json`)
    expect(scripts, folder).toMatchObject({ test: expect.stringContaining('vitest run') })
    const files = ['src', 'test'].flatMap(part =>
      readdirSync(path.join(root, folder, part), { recursive: true, encoding: 'utf8' }),
    )
    expect(
      files.some(file => isTest(file)),
      folder,
    ).toBe(true)
  }
})

/** What is wrong with the tests that a row names: each is a link to a file, and titles within it in quotation marks. */
function faultsOf({ clause, test: cell }: Row): string[] {
  const named = [...cell.matchAll(/\]\(([^)]+)\)((?:,? “.*?”(?=,|$| \[))*)/g)]
  if (named.length === 0) return [`${clause} names no test`]
  return named.flatMap(([, link = '', after = '']) => {
    const file = path.join(docs, link)
    if (!isTest(link)) return [`${clause}: ${link} is no test file`]
    if (!existsSync(file)) return [`${clause}: ${link}: no such file`]
    const titles = [...after.matchAll(/“(.*?)”(?=,|$)/g)].map(([, title = '']) => title)
    if (titles.length === 0) return [`${clause}: ${link} names no test of the file`]
    const source = readFileSync(file, 'utf8')
    return titles
      .filter(title => !hasTest(source, title))
      .map(title => `${clause}: ${link} has no test “${title}”`)
  })
}

/** Whether a source has a test with this title, which may be a pattern such as `%s`. */
function hasTest(source: string, title: string): boolean {
  const quoted = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`\\(\\s*(['"\`])${quoted}\\1,`).test(source.replace(/\\(['"`])/g, '$1'))
}

/** `behaviours.ts` is the suite that every agent goes through. */
function isTest(file: string): boolean {
  return /\.test\.tsx?$|\/behaviours\.ts$/.test(file)
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#]+)\)/g)].map(match => match[1] ?? '')
}

/** The rows of all tables whose first column is the clause. */
function rowsOf(text: string): Row[] {
  return [...text.matchAll(/^\| clause \|(.*)\n((?:\|.*(?:\n|$))+)/gm)].flatMap(([, head = '', rows = '']) =>
    rows
      .trimEnd()
      .split('\n')
      .slice(1)
      .map(row => {
        const cells = row.split(/ ?\| ?/).slice(1, -1)
        const why = head.includes('code') ? undefined : cells.at(-2)
        return { clause: cells[0] ?? '', why, test: cells.at(-1) ?? '' }
      }),
  )
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'))
}
