import { existsSync } from 'node:fs'
import path from 'node:path'

/** The system's bubblewrap, in which Codex then runs its commands, instead of the one that it brings. */
export function systemBubblewrap() {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/bin', '/bin']
  return folders.map(folder => path.join(folder, 'bwrap')).find(file => existsSync(file))
}
