import { isTestFile } from './file-kinds.ts'

/** The lines of one file that are not on the other side. */
export interface FileLines {
  status: string
  path: string
  added: string[]
  /** The numbers of the added lines, from 1. */
  addedAt: number[]
  removed: string[]
}

/** Lines of the files in the order of `git diff-tree`, which has a part for each of them. */
export function linesOf(
  files: readonly { status: string; path: string }[],
  patch: readonly string[],
): FileLines[] {
  const all = files.map(
    ({ status, path }): FileLines => ({ status, path, added: [], addedAt: [], removed: [] }),
  )
  let at = -1
  let next = 0
  let isInText = false
  for (const line of patch) {
    // A line of a file has a sign before it.
    if (line.startsWith('diff --git ')) {
      at += 1
      isInText = false
    } else if (line.startsWith('@@')) {
      isInText = true
      next = Number(/^@@ -\S+ \+(\d+)/.exec(line)?.[1] ?? 0)
    } else if (isInText && line.startsWith('+')) {
      all[at]?.added.push(line.slice(1))
      all[at]?.addedAt.push(next)
      next += 1
    } else if (isInText && line.startsWith('-')) all[at]?.removed.push(line.slice(1))
  }
  return all
}

/**
 * Lines of tests that were there and are not any more, in no test file: a line that was only moved, or that names a moved
 * file, is not one of them. Neither are imports, comments and brackets.
 */
export function lostLines(files: readonly FileLines[]): { path: string; lines: string[] }[] {
  const there = new Map<string, number>()
  for (const file of files)
    for (const line of file.added) there.set(bare(line), (there.get(bare(line)) ?? 0) + 1)
  const found: { path: string; lines: string[] }[] = []
  for (const { path, removed } of files) {
    const lines = removed.filter(line => {
      const key = bare(line)
      const left = there.get(key) ?? 0
      there.set(key, left - 1)
      return left <= 0 && !SAYS_NOTHING.test(line)
    })
    if (lines.length > 0) found.push({ path, lines })
  }
  return found
}

/** Lines of tests that were nowhere before. */
export function newLines(files: readonly FileLines[]): { path: string; lines: string[] }[] {
  return lostLines(files.map(file => ({ ...file, added: file.removed, removed: file.added })))
}

/** Without spaces, without a comma at its end, and with the same word for each path. */
function bare(line: string): string {
  return line
    .replace(/(['"`])(?=[^'"`]*[./])[\w@./ -]+\1/g, 'PATH')
    .replace(/\s+/g, '')
    .replace(/[,;]$/, '')
}

/** Tests that took something from the project by a path, and now take it from elsewhere although it is still there. */
export function otherImports(files: readonly FileLines[], isThere: (path: string) => boolean): string[] {
  return files
    .filter(({ path, status }) => status !== 'A' && status !== 'D' && isTestFile(path))
    .filter(({ path, added, removed }) => {
      const now = new Set(added.flatMap(importedIn))
      return removed
        .flatMap(importedIn)
        .some(from => !now.has(from) && from.startsWith('.') && isThere(resolved(path, from)) && now.size > 0)
    })
    .map(({ path }) => path)
}

function importedIn(line: string): string[] {
  const found = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"])([^'"]+)\1/.exec(line)?.[2]
  return found === undefined ? [] : [found]
}

function resolved(file: string, from: string): string {
  const parts = file.split('/').slice(0, -1)
  for (const part of from.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}

const SAYS_NOTHING =
  /^\s*$|^\s*(\/\/|#(?!\[)|\*|\/\*|--|<!--|"{3}|'{3})|^\s*(import|from|use|package|using|include|require)\b|=\s*(await\s+)?(require|import)\s*\(|^[\s{}()[\];,]*$|^\s*['"]use strict['"]/
