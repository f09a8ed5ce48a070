import type { TreeFile } from './disk-files.ts'

/** A file that differs between two trees. */
export interface Differing {
  name: string
  from: TreeFile | null
  to: TreeFile | null
}

/** Parses the output of `diff-tree -r -z --raw --no-renames`, read as `latin1`. */
export function parseRaw(output: string): Differing[] {
  const words = output.split('\0')
  const files: Differing[] = []
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [, oldMode = '', newMode = '', oldId = '', newId = ''] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) /.exec(words[i] ?? '') ?? []
    files.push({ name: words[i + 1] ?? '', from: treeFile(oldMode, oldId), to: treeFile(newMode, newId) })
  }
  return files
}

/** True if two files have the same content and kind. */
export function isSameFile(a: TreeFile | null | undefined, b: TreeFile | null | undefined): boolean {
  return a === b || (a?.id === b?.id && a?.mode === b?.mode)
}

function treeFile(mode: string, id: string): TreeFile | null {
  return /^0+$/.test(mode) ? null : { mode, id }
}
