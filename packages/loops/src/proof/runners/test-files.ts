import { readdir } from 'node:fs/promises'
import path from 'node:path'

/** Files that are tests by their name or folder, for runners whose report does not name them. */
export async function findTestFiles(folder: string): Promise<string[]> {
  const found: string[] = []
  const walk = async (at: string, depth: number) => {
    const entries = await readdir(path.join(folder, at), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (found.length >= MAX_FILES) return
      const name = path.posix.join(at, entry.name)
      if (entry.isDirectory() && depth < MAX_DEPTH && !NO_SOURCES.test(entry.name))
        await walk(name, depth + 1)
      if (entry.isFile() && isNamedAsTest(name)) found.push(name)
    }
  }
  await walk('', 0)
  return found.sort()
}

/** Recognizes a test by its name or folder alone. */
export function isNamedAsTest(file: string): boolean {
  return TEST.test(file)
}

const TEST =
  /(^|\/)(tests?|__tests__|spec|specs|e2e)\/|(^|[./_-])(test|spec)s?\.[a-z]+$|(^|\/)test_[^/]+\.py$|(^|\/)conftest\.py$|Tests?\.(java|kt|cs)$|_test\.\w+$/i
const NO_SOURCES = /^(node_modules|\.git|\.venv|venv|target|build|dist|coverage|__pycache__)$/
const MAX_FILES = 5_000
const MAX_DEPTH = 12
