import path from 'node:path'
import { isTestFile } from './file-kinds.ts'
import { objectIn, recordOf } from './judging-part.ts'
import type { ChangedFile } from './matter.ts'

/**
 * Names of the package, or `#names` of its own, that now lead to another file although the one from before is still there. A test that imports it then tests something else than it did, or than users get.
 */
export function movedEntries(
  manifest: string,
  base: string,
  now: string,
  isThere: (path: string) => boolean,
): string[] {
  const folder = path.posix.dirname(manifest)
  const wasThere = (target: string) => isThere(path.posix.join(folder, target))
  const before = objectIn(base) ?? {}
  const after = objectIn(now)
  if (after === undefined) return []
  return (['exports', 'imports', 'module', 'browser'] as const).flatMap(field => {
    const [from, to] = [mapOf(before, field), mapOf(after, field)]
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].filter(name =>
      setsOf(from, to).some(conditions => {
        const target = resolved(from, name, conditions) ?? (before[field] === undefined ? name : undefined)
        const next = resolved(to, name, conditions)
        if (target === undefined || next === undefined || isSame(target, next)) return false
        // One that is not in the commit is built: no check finds it without a build.
        return wasThere(target) && (next.includes('*') || wasThere(next))
      }),
    )
  })
}

/**
 * Added files that are found before another one, which is still there, where a module is imported without its ending: tests
 * may then test another file than its users get.
 */
export function shadowing(files: readonly ChangedFile[], there: Iterable<string>): string[] {
  const added = files.filter(({ status, path: file }) => status === 'A' && !isTestFile(file))
  const found = added.flatMap(({ path: file }) => {
    const [, stem = '', ending = ''] = /^(.+?)(\.[a-z]+|\/index\.[a-z]+|\/__init__\.py)$/.exec(file) ?? []
    return stem === '' || /\.d$/.test(stem) ? [] : [{ file, stem, ending }]
  })
  if (found.length === 0) return []
  const known = new Set(there)
  return found
    .filter(({ stem, ending }) =>
      FOUND_BEFORE.some(
        ([first, others]) => first.test(ending) && others.some(one => known.has(`${stem}${one}`)),
      ),
    )
    .map(({ file }) => file)
}

/** Modules are looked for in this order by Node, Vite, Jest and Python. */
const FOUND_BEFORE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\.(?:[cm]?js|jsx|node|json)$/, ['.ts', '.tsx', '.mts', '.cts']],
  [/^\.[cm]?[jt]sx?$|^\.(?:json|node)$/, ['.js', '.ts'].map(ending => `/index${ending}`)],
  [/^\/__init__\.py$/, ['.py']],
]

/** Files that code loads with `require` although they are not named like code: Node runs them, and no rule reads them. */
export function foreignCode(file: string, text: string, isThere: (path: string) => boolean): string[] {
  return [...text.matchAll(/\brequire\s*\(\s*['"](\.{1,2}\/[^'"\n]+)['"]\s*\)/g)]
    .map(([, from = '']) => path.posix.join(path.posix.dirname(file), from))
    .filter(at => !/\.(?:[cm]?[jt]sx?|json|node|vue|svelte)$/.test(at) && isThere(at))
}

type Entries = Record<string, unknown>

/** The specifiers of one field. `main` is what `.` leads to where nothing is exported by name. */
function mapOf(manifest: Entries, field: 'exports' | 'imports' | 'module' | 'browser'): Entries {
  const value = manifest[field]
  if (field === 'exports') {
    if (value === undefined) return { '.': manifest.main ?? './index.js' }
    return Object.keys(recordOf(value)).some(key => key.startsWith('.')) ? recordOf(value) : { '.': value }
  }
  return typeof value === 'string' ? { '.': value } : recordOf(value)
}

/** Resolves a name as Node does: the name itself, or the longest pattern that it fits. */
function resolved(entries: Entries, name: string, conditions: ReadonlySet<string>): string | undefined {
  if (name in entries) return targetOf(entries[name], conditions)
  const [pattern] = Object.keys(entries)
    .filter(key => fitsIn(key, name))
    .sort((a, b) => b.indexOf('*') - a.indexOf('*'))
  if (pattern === undefined) return undefined
  const [head = '', tail = ''] = pattern.split('*')
  return targetOf(entries[pattern], conditions)?.replaceAll(
    '*',
    name.slice(head.length, name.length - tail.length),
  )
}

function fitsIn(pattern: string, name: string): boolean {
  const [head = '', tail] = pattern.split('*')
  if (tail === undefined || name.length < head.length + tail.length) return false
  return name.startsWith(head) && name.endsWith(tail)
}

/** The first condition that holds, and the first of a list. */
function targetOf(target: unknown, conditions: ReadonlySet<string>): string | undefined {
  if (typeof target === 'string') return target
  if (Array.isArray(target)) return targetOf(target[0], conditions)
  for (const [condition, next] of Object.entries(recordOf(target)))
    if (conditions.has(condition)) {
      const found = targetOf(next, conditions)
      if (found !== undefined) return found
    }
  return undefined
}

/** A check runs with `import` or with `require`, and a runner may add any condition that Node does not know. */
function setsOf(...maps: Entries[]): ReadonlySet<string>[] {
  const own = maps.flatMap(map => Object.values(map).flatMap(conditionsIn)).filter(one => !ELSEWHERE.has(one))
  return [[], own].flatMap(more =>
    ['import', 'require'].map(
      one =>
        new Set([
          ...COMMON,
          one,
          ...more.filter(condition => condition !== 'import' && condition !== 'require'),
        ]),
    ),
  )
}

function conditionsIn(target: unknown): string[] {
  if (Array.isArray(target)) return target.flatMap(conditionsIn)
  return Object.entries(recordOf(target)).flatMap(([condition, next]) => [condition, ...conditionsIn(next)])
}

function isSame(a: string, b: string): boolean {
  return path.posix.normalize(a) === path.posix.normalize(b)
}

const COMMON = ['node', 'default', 'module-sync', 'node-addons']
/** Conditions of places where no check of a project runs. */
const ELSEWHERE = new Set([
  ...['types', 'typings', 'browser', 'worker', 'workerd', 'deno', 'bun', 'react-native', 'react-server'],
  ...['edge-light', 'netlify', 'electron', 'style', 'sass'],
])
