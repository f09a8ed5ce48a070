import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')

test('docs/architecture.md walks a delta through functions that are there, and through no more of them than before', () => {
  const stops = stopsOf(readFileSync(path.join(root, 'docs/architecture.md'), 'utf8'))
  expect(stops.map(({ number }) => number)).toEqual(stops.map((_, at) => at + 1))
  expect(stops.length).toBeGreaterThan(40)
  expect(stops.length).toBeLessThanOrEqual(79)
  const sources = sourcesOf(['packages', 'apps'])
  expect(stops.filter(({ name }) => !sources.some(source => declares(source, name)))).toEqual([])
})

function stopsOf(page: string): { number: number; name: string }[] {
  const walk = /## The walk of a delta\n[\s\S]*?```\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const stops = [...walk.matchAll(/(?<![\w#.])(\d+) ([A-Za-z]+(?:[#.][A-Za-z]+)?)/g)]
  return stops.map(([, number, name = '']) => ({ number: Number(number), name }))
}

function declares(source: string, name: string): boolean {
  const [, owner, member] = /^(\w+)[#.](\w+)$/.exec(name) ?? []
  if (owner === undefined) return new RegExp(`\\b(?:function\\*?|const) ${name}\\b`).test(source)
  const sign = name.includes('#') ? '#' : ''
  const method = new RegExp(`\\n  (?:async |readonly )*\\*?${sign}${member}\\b`)
  return new RegExp(`\\bclass ${owner}\\b`).test(source) && method.test(source)
}

function sourcesOf(folders: readonly string[]): string[] {
  return folders.flatMap(folder =>
    readdirSync(path.join(root, folder)).flatMap(name => {
      const src = path.join(root, folder, name, 'src')
      if (!existsSync(src)) return []
      const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
      return files
        .filter(file => /\.tsx?$/.test(file))
        .map(file => readFileSync(path.join(src, file), 'utf8'))
    }),
  )
}
