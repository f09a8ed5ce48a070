import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse } from 'node:path'

/**
 * Where a path leads, the way the kernel goes: links are followed before `..` is taken, also a link to what is not there yet.
 * What does not exist stays as it is written. Never throws: what cannot be looked at is taken for a plain name.
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

/** As many as Linux follows. */
const MAX_LINKS = 40

/** Last first, to be taken from the end. */
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
