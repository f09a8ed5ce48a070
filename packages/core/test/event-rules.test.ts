import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const packageRoot = path.resolve(import.meta.dirname, '..')

test('the rules in docs/events.md and the tests that cite them match', () => {
  const page = readFileSync(path.join(packageRoot, '../../docs/events.md'), 'utf8')
  const rules = new Set([...page.matchAll(/^- \*\*(E\d+)\*\*/gm)].map(match => match[1]))
  const cited = new Set(testFiles().flatMap(citations))
  expect([...cited].filter(rule => !rules.has(rule)).sort(), 'cited, but no rule').toStrictEqual([])
  expect([...rules].filter(rule => !cited.has(rule ?? '')).sort(), 'a rule without a test').toStrictEqual([])
})

function testFiles(): string[] {
  return ['src', 'test'].flatMap(folder =>
    readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.test.ts'))
      .map(file => path.join(packageRoot, folder, file)),
  )
}

/** Names of tests begin with their rules: `E13: …` or `E13, E14: …`. */
function citations(file: string): string[] {
  const names = readFileSync(file, 'utf8').matchAll(/['"`]((?:E\d+, )*E\d+): /g)
  return [...names].flatMap(match => match[1]?.split(', ') ?? [])
}
