import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export function writeFiles(root: string, files: Record<string, string>) {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    writeFileSync(path.join(root, file), text)
  }
}

/** `{ core: 'dependencies' }` puts @chirality/core into the dependencies. */
export function manifest(name: string, ours: Record<string, string> = {}, extra: object = {}) {
  const sections: Record<string, Record<string, string>> = {}
  for (const [other, section] of Object.entries(ours))
    sections[section] = { ...sections[section], [`@chirality/${other}`]: 'workspace:*' }
  return JSON.stringify({ name: `@chirality/${name}`, ...sections, ...extra }, null, 2)
}
