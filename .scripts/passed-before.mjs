// Which tests need no second run: those of a package that passed, when nothing that they read has changed since.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './setup.mjs'

const KEY_FILE = '.test-key'
/** Their tests read the whole repository: the documents and tests of every package, or packages to install. */
const READ_ALL = ['packages/core', 'apps/cli']
/** What a test of any package may read beside packages. */
const SHARED = /^(\.scripts|\.github|docs)\/|^[^/]+$/

/**
 * `names` are the folders of all packages by name. The files of a package count with those of the packages that its
 * manifest names, and of theirs; the environment, as far as tests look at it, counts for all.
 */
export function passedBefore(names, environment) {
  const files = hashedFiles()
  const keys = new Map()

  function keyOf(folder) {
    if (!keys.has(folder)) keys.set(folder, newKey(folder))
    return keys.get(folder)
  }

  function newKey(folder) {
    const below = READ_ALL.includes(folder) ? [''] : [...closure(folder)].map(one => `${one}/`)
    const hash = createHash('sha256').update(JSON.stringify([process.version, environment]))
    for (const [file, content] of files)
      if (SHARED.test(file) || below.some(start => file.startsWith(start)))
        hash.update(`${file}\0${content}\0`)
    return hash.digest('hex')
  }

  function closure(folder, found = new Set()) {
    if (found.has(folder)) return found
    found.add(folder)
    const manifest = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'))
    for (const section of ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'])
      for (const name of Object.keys(manifest[section] ?? {}))
        if (names.has(name)) closure(names.get(name), found)
    return found
  }

  return {
    /** Whether its last run passed with the files as they are now. */
    has(folder) {
      const file = path.join(root, folder, KEY_FILE)
      return existsSync(file) && readFileSync(file, 'utf8') === keyOf(folder)
    },
    /** Before a run: what a killed run leaves is no pass. */
    forget(folder) {
      rmSync(path.join(root, folder, KEY_FILE), { force: true })
    },
    /** The key is of the files from before the run: what changed meanwhile was not tested. */
    remember(folder) {
      writeFileSync(path.join(root, folder, KEY_FILE), keyOf(folder))
    },
  }
}

/** Every file that git tracks or would track, with a hash of its content. */
function hashedFiles() {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (listed.status !== 0) return [['unknown', String(Math.random())]]
  return listed.stdout
    .split('\0')
    .filter(Boolean)
    .sort()
    .map(file => [file, contentHash(path.join(root, file))])
}

function contentHash(file) {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return 'none'
  if (stat.isSymbolicLink()) return `link ${readlinkSync(file)}`
  if (!stat.isFile()) return 'other'
  return `${stat.mode & 0o111} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`
}
