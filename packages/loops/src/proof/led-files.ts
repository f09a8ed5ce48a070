import path from 'node:path'
import { configsIn, isOwnCode, isTestFile } from './file-kinds.ts'
import { isMixed, judgingText } from './judging-part.ts'

/**
 * Files that decide how checks run because a configuration leads to them, as it was before: what it imports, extends or
 * has loaded, and what these import. Paths from the top, as `stemOf` has them.
 */
export async function ledFiles(
  { inBase, prefix, show }: ProjectBefore,
  named: readonly string[],
): Promise<Set<string>> {
  const byStem = new Map<string, string[]>()
  for (const file of inBase) byStem.set(stemOf(file), [...(byStem.get(stemOf(file)) ?? []), file])
  const open: Leading[] = [
    ...[...configsIn(inBase, prefix), ...inBase.filter(file => CONFTEST.test(file))].map(file => ({
      file,
      intoCode: true,
    })),
    // A script of a check imports the code that it checks.
    ...named
      .map(word => path.posix.join(prefix, word))
      .filter(file => inBase.includes(file) && !isTestFile(file) && !isOwnCode(file))
      .map(file => ({ file, intoCode: false })),
  ]
  const seen = new Set(open.map(({ file }) => file))
  const led = new Set<string>()
  for (let at = 0; at < Math.min(open.length, MAX_FILES); at += 1) {
    const { file, intoCode } = open[at] as Leading
    const said = (await show('base', file)) ?? ''
    const text = path.posix.basename(file) === 'package.json' ? judgingText(said) : said
    for (const { to, isPart } of targetsIn(text, { file, prefix, inBase })) {
      const stem = stemOf(to)
      const files = byStem.get(stem) ?? []
      if (!intoCode && files.some(isOwnCode)) continue
      led.add(stem)
      for (const next of files) {
        if (seen.has(next) || isMixed(next)) continue
        seen.add(next)
        // What is loaded before the tests may start the code that they test.
        open.push({ file: next, intoCode: intoCode && isPart && !isTestFile(next) })
      }
    }
  }
  return led
}

/** The project as it was before the task. */
export interface ProjectBefore {
  /** All files, from the top of the repository. */
  inBase: readonly string[]
  /** Folder of the project below the top of the repository, with `/`. */
  prefix: string
  /** Undefined if there is no such file there. */
  show(at: 'base' | 'now', file: string): Promise<string | undefined>
}

interface Leading {
  file: string
  /** True if its imports are parts of the configuration, wherever they lie. */
  intoCode: boolean
}

interface Target {
  to: string
  /** It is imported into the configuration, and not loaded beside it. */
  isPart: boolean
}

function targetsIn(
  text: string,
  { file, prefix, inBase }: { file: string; prefix: string; inBase: readonly string[] },
): Target[] {
  const from = (word: string) => path.posix.join(path.posix.dirname(file), word)
  const imported = [...text.matchAll(IMPORTS)].map(([, word = '']) => ({ to: from(word), isPart: true }))
  const loaded = [...text.matchAll(LOADS)].flatMap(([, key = '', value = '']) =>
    wordsIn(value).map(word => ({
      to: word.startsWith('<rootDir>') ? path.posix.join(prefix, word.replace('<rootDir>', '.')) : from(word),
      isPart: PARTS.test(key),
    })),
  )
  const included = [...text.matchAll(INCLUDES)].flatMap(([, words = '']) =>
    words.split(/\s+/).flatMap(word => [
      { to: from(word), isPart: true },
      { to: path.posix.join(prefix, word), isPart: true },
    ]),
  )
  const modules = [...text.matchAll(PYTHON_PLUGINS)].flatMap(([, list = '', option = '', entry = '']) => [
    ...[...list.matchAll(/['"]([\w.]+)['"]/g)].map(([, name = '']) => name),
    ...[option, entry].filter(Boolean),
  ])
  return [...imported, ...loaded, ...included, ...modules.flatMap(name => pythonFiles(name, inBase))]
}

/** Paths in quotes, or in a list of YAML. */
function wordsIn(value: string): string[] {
  return [...value.matchAll(/(['"])([^'"\n]*)\1|(?:^|\s)([\w@.<>-]*\/[\w@./-]+)/g)]
    .map(([, , quoted, bare]) => quoted ?? bare ?? '')
    .filter(word => word.includes('/'))
}

/** A module may be below any folder that the configuration puts on the path. */
function pythonFiles(name: string, inBase: readonly string[]): Target[] {
  const file = name.replaceAll('.', '/')
  return inBase
    .filter(one => [`${file}.py`, `${file}/__init__.py`].some(end => one === end || one.endsWith(`/${end}`)))
    .map(to => ({ to, isPart: false }))
}

/** A file as it can be imported: without its ending, and a folder for its index. */
export function stemOf(file: string): string {
  return path.posix.normalize(file).replace(/(?:\/index)?\.[a-z]+$/, '')
}

const CONFTEST = /(^|\/)conftest\.py$/
const IMPORTS = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire(?:\.resolve)?\s*\(\s*)['"](\.{1,2}\/[^'"\n]+)['"]/g
const LOADS =
  /["']?\b(setupFiles\w*|globalSetup|globalTeardown|require|import|preload|file|testEnvironment|runner|testRunner|reporters?|transform|resolver|snapshotSerializers|nodeArguments|loader|extends|presets?|plugins?|projects|ui)["']?\s*:\s*(\[[^\]]*\]|\{[^}]*\}|["'][^"'\n]*["']|[^\s,]+|(?:\s*\n\s*-\s+\S+)+)/g
const PARTS = /^(?:extends|presets?|projects)$/
/** Includes of make and of shells. */
const INCLUDES = /^[ \t]*(?:-?s?include|source|\.)[ \t]+([\w./ -]+)$/gm
const PYTHON_PLUGINS =
  /\bpytest_plugins\s*=\s*(\[[^\]]*\]|\([^)]*\)|['"][\w.]+['"])|(?:^|[\s"'=])-p[\s=]*([\w.]+)|\bpytest11["']?\]\s*\n\s*[\w-]+\s*=\s*["']([\w.]+)/g
const MAX_FILES = 100
