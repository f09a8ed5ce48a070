import { posix } from 'node:path'
import { globMatches, isProtectedName, parseGlob } from '@chirality/core'

/** A path that a tool was given: as written, absolute, and resolved on the disk. */
export interface CallPath {
  written: string
  lexical: string
  real: string
}

export interface PathPlace {
  /** Real path of the folder that the agent works in. */
  root: string
  /** Real path of the project: another folder, if the agent works in a worktree of it. */
  project: string
  home: string
  /** The real path of a pattern's beginning, up to its first star. */
  realPath: (path: string) => string
}

/**
 * Whether an `allow` pattern covers a path, by its resolved path. Patterns that do not begin with `/` or `~/` cover
 * only the project, and a star does not match files that decide about permissions.
 */
export function allowsPath(
  pattern: string,
  path: CallPath,
  place: PathPlace & { changes: boolean },
): boolean {
  const segments = patternSegments(pattern, place)
  if (!isAbsolutePattern(pattern) && !isInside(place.root, path.real)) return false
  if (place.changes && isOffLimits(path.real, segments)) return false
  return segmentsMatch(segments, split(path.real), { ignoreCase: false })
}

/** Whether an `ask` or `deny` pattern matches a path: as written or resolved, or a folder above it. */
export function findsPath(pattern: string, path: CallPath, place: PathPlace): boolean {
  // A rule about a file of the project also holds for the project's own copy of it, whichever the agent works in.
  const roots = new Set([place.root, place.project])
  const patterns = [...roots].flatMap(root => {
    const wanted = patternSegments(pattern, { ...place, root })
    return [wanted, realSegments(wanted, place)]
  })
  // A bare name matches in every folder, also outside the project.
  if (/^\s*(?:\*\*\/|[^/]*$)/.test(pattern)) patterns.push(['**', ...split(pattern.trim().normalize('NFC'))])
  const paths = [path.lexical, path.real].map(value => split(value.normalize('NFC')))
  return patterns.some(segments =>
    paths.some(
      found => segmentsMatch(segments, found, FOLDED) || segmentsMatch([...segments, '**'], found, FOLDED),
    ),
  )
}

const FOLDED = { ignoreCase: true }

function patternSegments(pattern: string, { root, home }: PathPlace): string[] {
  const trimmed = pattern.trim().normalize('NFC')
  const open = trimmed.endsWith('/') ? `${trimmed}**` : trimmed
  if (open.startsWith('~/')) return split(posix.join(home, open.slice(2)))
  if (open.startsWith('/')) return split(posix.normalize(open.replace(/^\/+/, '/')))
  const relative = open.startsWith('./') ? open.slice(2) : open
  // As in .gitignore, a bare name matches in every folder.
  return relative.includes('/') ? split(posix.join(root, relative)) : [...split(root), '**', relative]
}

function isAbsolutePattern(pattern: string): boolean {
  return /^\s*(?:\/|~\/)/.test(pattern)
}

/** `/etc` is a link on some systems; the pattern means its target. */
function realSegments(segments: string[], { realPath }: PathPlace): string[] {
  const star = segments.findIndex(segment => segment.includes('*') || segment.includes('\\'))
  const fixed = star === -1 ? segments : segments.slice(0, star)
  return [...split(realPath(`/${fixed.join('/')}`)), ...segments.slice(fixed.length)]
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root === '/' ? root : `${root}/`)
}

/** Each such name in the path has to be in the pattern too, literally. */
function isOffLimits(path: string, segments: string[]): boolean {
  return protectedNames(split(path)) > protectedNames(segments)
}

function protectedNames(names: string[]): number {
  return names.filter(isProtectedName).length
}

function split(path: string): string[] {
  return path.split('/').filter(segment => segment !== '')
}

/** `**` is any number of folders. The leftmost match of the part between two of them is as good as any later one. */
function segmentsMatch(pattern: string[], path: string[], options: { ignoreCase: boolean }): boolean {
  const globs = pattern.map(parseGlob)
  const fits = (at: number, index: number) => {
    const [glob, name] = [globs[at], path[index]]
    return glob !== undefined && name !== undefined && globMatches(glob, name, options)
  }
  let at = 0
  let index = 0
  let star = -1
  let resume = 0
  while (index < path.length) {
    if (pattern[at] === '**') {
      star = at
      resume = index
      at += 1
    } else if (fits(at, index)) {
      at += 1
      index += 1
    } else if (star !== -1) {
      resume += 1
      index = resume
      at = star + 1
    } else return false
  }
  while (pattern[at] === '**') at += 1
  return at === pattern.length
}
