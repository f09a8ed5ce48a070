import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface InstalledVersion {
  version: string
  /** Of the binary, or of the package's folder where there is none. */
  path: string
}

/** What `npm run test:versions` has installed and was asked for, oldest first. */
export function installed(name: keyof typeof PLACES): InstalledVersion[] {
  const folder = process.env.CHIRALITY_VERSIONS ?? DEFAULT
  const prefix = `${name}-`
  const found = existsSync(folder) ? readdirSync(folder).filter(entry => entry.startsWith(prefix)) : []
  const wanted = process.env.CHIRALITY_WANTED?.split(',')
  const versions = found
    .map(entry => entry.slice(prefix.length))
    .filter(version => wanted?.includes(`${name}@${version}`) ?? true)
    .sort(byNumber)
  return versions.map(version => ({
    version,
    path: PLACES[name](path.join(folder, `${prefix}${version}`, 'node_modules')),
  }))
}

/** What is to be run, in a folder of modules. */
const PLACES = {
  'claude-code': claudeIn,
  'claude-agent-sdk': (modules: string) => path.join(modules, '@anthropic-ai', 'claude-agent-sdk'),
  codex: codexIn,
}

const DEFAULT = fileURLToPath(new URL('../../../../.tools/versions', import.meta.url))

/** A program for the platform, from 2.1.113 on; before that a script. */
function claudeIn(modules: string): string {
  const owner = path.join(modules, '@anthropic-ai')
  const native = path.join(owner, `claude-code-${process.platform}-${process.arch}`, 'claude')
  return existsSync(native) ? native : path.join(owner, 'claude-code', 'cli.js')
}

/** In `bin`; up to 0.130 in `codex`. */
function codexIn(modules: string): string {
  const vendor = path.join(modules, '@openai', `codex-${process.platform}-${process.arch}`, 'vendor')
  const [triple = 'none'] = existsSync(vendor) ? readdirSync(vendor) : []
  const native = path.join(vendor, triple, 'bin', 'codex')
  return existsSync(native) ? native : path.join(vendor, triple, 'codex', 'codex')
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
