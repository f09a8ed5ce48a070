import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const packageRoot = path.resolve(import.meta.dirname, '..')

test("Codex's rules in docs/events.md and the tests that cite them match", () => {
  const page = readFileSync(path.join(packageRoot, '../../docs/events.md'), 'utf8')
  const rules = [...page.matchAll(/^- \*\*(C\d+)\*\*/gm)].map(match => match[1] ?? '')
  const cited = new Set(testFiles().flatMap(citations))
  expect([...cited].filter(rule => !rules.includes(rule)).sort(), 'cited, but no rule').toStrictEqual([])
  expect(rules.filter(rule => !cited.has(rule)).sort(), 'a rule without a test').toStrictEqual([])
  expect(new Set(rules).size, 'every number once').toBe(rules.length)
})

function testFiles(): string[] {
  return ['src', 'test'].flatMap(folder =>
    readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.test.ts'))
      .map(file => path.join(packageRoot, folder, file)),
  )
}

/** Names of tests begin with their rules: `C13: …` or `C13, C14: …`. */
function citations(file: string): string[] {
  const names = readFileSync(file, 'utf8').matchAll(/['"`]((?:[CE]\d+, )*[CE]\d+): /g)
  return [...names].flatMap(match => match[1]?.split(', ') ?? []).filter(rule => rule.startsWith('C'))
}
