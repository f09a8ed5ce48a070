import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface InstalledVersion {
  version: string
  /** Of the binary, or of the package's folder where there is none. */
  path: string
}

/** What `npm run test:versions` has installed and was asked for, oldest first. */
export function installed(name: 'claude-code' | 'claude-agent-sdk'): InstalledVersion[] {
  const folder = process.env.CHIRALITY_VERSIONS ?? DEFAULT
  const prefix = `${name}-`
  const found = existsSync(folder) ? readdirSync(folder).filter(entry => entry.startsWith(prefix)) : []
  const wanted = process.env.CHIRALITY_WANTED?.split(',')
  const versions = found
    .map(entry => entry.slice(prefix.length))
    .filter(version => wanted?.includes(`${name}@${version}`) ?? true)
    .sort(byNumber)
  return versions.map(version => {
    const owner = path.join(folder, `${prefix}${version}`, 'node_modules', '@anthropic-ai')
    return { version, path: name === 'claude-code' ? binaryIn(owner) : path.join(owner, name) }
  })
}

const DEFAULT = fileURLToPath(new URL('../../../../.tools/versions', import.meta.url))

/** A program for the platform, from 2.1.113 on; before that a script. */
function binaryIn(owner: string): string {
  const native = path.join(owner, `claude-code-${process.platform}-${process.arch}`, 'claude')
  return existsSync(native) ? native : path.join(owner, 'claude-code', 'cli.js')
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
