import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** Every file below `folder` that holds `text`. */
export function filesWith(folder: string, text: string): string[] {
  const names = readdirSync(folder, { recursive: true }).map(name => path.join(folder, String(name)))
  return names.filter(name => isFile(name) && readFileSync(name).includes(text))
}

/** A file of a process that is still alive may be gone again. */
function isFile(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isFile() === true
}
