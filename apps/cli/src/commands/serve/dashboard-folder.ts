import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built dashboard, whether this runs from the sources, the bundle or one of its chunks. Undefined when it is not built. */
export function dashboardFolder(from = fileURLToPath(import.meta.url)): string | undefined {
  let folder = path.dirname(from)
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const candidate = path.join(folder, 'web', 'dist')
    if (existsSync(path.join(candidate, 'index.html'))) return candidate
    folder = path.dirname(folder)
  }
  return undefined
}

const MAX_LEVELS = 6
