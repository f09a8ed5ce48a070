import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const docs = path.resolve(import.meta.dirname, '..', '..', '..', 'docs')

test('every file that the map of the specification names is there', () => {
  const page = readFileSync(path.join(docs, 'specification.md'), 'utf8')
  const files = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(match => match[1] ?? '')
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter(file => !existsSync(path.join(docs, file)))).toEqual([])
})
