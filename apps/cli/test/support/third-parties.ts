import { readFileSync } from 'node:fs'
import path from 'node:path'

interface Locked {
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** The packages of others that come with a package which npm has installed in a folder, directly or not. */
export function thirdParties(folder: string, name: string): string[] {
  const { packages } = JSON.parse(readFileSync(path.join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const found = new Set<string>()
  const add = (wanted: string, from: string): void => {
    const place = placeOf(packages, wanted, from)
    if (place === undefined || found.has(place)) return
    found.add(place)
    const { dependencies, peerDependencies, peerDependenciesMeta = {} } = packages[place] ?? {}
    const peers = Object.keys(peerDependencies ?? {}).filter(peer => !peerDependenciesMeta[peer]?.optional)
    for (const next of [...Object.keys(dependencies ?? {}), ...peers]) add(next, place)
  }
  add(name, '')
  return [...found].map(place => place.slice('node_modules/'.length)).filter(isForeign)
}

/** Where Node finds it from a folder. */
function placeOf(packages: Record<string, Locked>, wanted: string, from: string): string | undefined {
  const place = path.posix.join(from, 'node_modules', wanted)
  if (place in packages) return place
  if (from === '') return undefined
  const above = from.slice(0, Math.max(0, from.lastIndexOf('node_modules/') - 1))
  return placeOf(packages, wanted, above)
}

function isForeign(name: string): boolean {
  return !/^@chirality\/[^/]+$/.test(name)
}
