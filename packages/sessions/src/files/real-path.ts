import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse } from 'node:path'

/**
 * Resolves a path as the kernel does: symlinks before `..`, including a symlink to a missing target. Missing parts stay
 * unchanged. Never throws: an unreadable part counts as a plain name.
 */
export function realPath(path: string, base = '/'): string {
  const start = isAbsolute(path) ? path : join(base, '/')
  const rest = segments(isAbsolute(path) ? path : `${base}/${path}`)
  let current = parse(start).root
  let links = 0
  while (rest.length > 0) {
    const name = rest.pop() ?? ''
    if (name === '..') {
      current = dirname(current)
      continue
    }
    const next = join(current, name)
    const target = links < MAX_LINKS ? linkTarget(next) : undefined
    if (target === undefined) {
      current = next
      continue
    }
    links += 1
    if (isAbsolute(target)) current = parse(target).root
    rest.push(...segments(target))
  }
  return current
}

/** The limit on Linux. */
const MAX_LINKS = 40

/** In reverse order, so that the next one can be popped. */
function segments(path: string): string[] {
  return path
    .split('/')
    .filter(name => name !== '' && name !== '.')
    .reverse()
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch {
    return undefined
  }
}
