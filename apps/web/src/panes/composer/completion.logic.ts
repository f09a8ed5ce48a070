/** Completion in progress, and the part of the text it replaces. */
export interface Completion {
  kind: 'command' | 'file'
  /** Typed part, without the mark. */
  typed: string
  start: number
  end: number
}

/** The word at the cursor, if it is a command at the beginning of the message or a file mention anywhere. */
export function completionAt(text: string, cursor: number): Completion | undefined {
  const before = text.slice(0, cursor)
  const word = /(?:^|\s)([/@]\S*)$/.exec(before)?.[1]
  if (word === undefined) return undefined
  const start = cursor - word.length
  if (word.startsWith('@')) return { kind: 'file', typed: word.slice(1), start, end: cursor }
  return start === 0 ? { kind: 'command', typed: word.slice(1), start, end: cursor } : undefined
}

/** The folder to look into for a mention, and how the entry's name begins. */
export function splitMention(typed: string): { folder: string; prefix: string } {
  const slash = typed.lastIndexOf('/')
  return slash < 0
    ? { folder: '', prefix: typed }
    : { folder: typed.slice(0, slash), prefix: typed.slice(slash + 1) }
}

/** The text with the word replaced, and where the cursor goes. A folder is left open, to go on into it. */
export function applyCompletion(
  text: string,
  { kind, start, end }: Completion,
  chosen: string,
): { text: string; cursor: number } {
  const mark = kind === 'command' ? '/' : '@'
  const done = `${mark}${chosen}${chosen.endsWith('/') ? '' : ' '}`
  const rest = text.slice(end).replace(/^ /, '')
  return { text: text.slice(0, start) + done + rest, cursor: start + done.length }
}

/** Entries of the typed folder first, then files found anywhere. */
export function mentions(here: readonly string[], found: readonly string[], typed: string): string[] {
  const near = here.filter(path => path.toLowerCase().startsWith(typed.toLowerCase()))
  return typed.endsWith('/') ? near : [...new Set([...near, ...found])]
}

/** Whether the letters are in it, in their order. */
export function hasLetters(path: string, letters: string): boolean {
  const hay = path.toLowerCase()
  let at = 0
  for (const letter of letters.toLowerCase()) {
    at = hay.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

/** Names that begin with what was typed come before those that only hold it. */
export function rank(names: readonly string[], typed: string): string[] {
  const wanted = typed.toLowerCase()
  const score = (name: string) =>
    name.toLowerCase().startsWith(wanted) ? 0 : name.toLowerCase().includes(wanted) ? 1 : 2
  return names
    .map(name => ({ name, score: score(name) }))
    .filter(({ score: s }) => s < 2)
    .sort((a, b) => a.score - b.score)
    .map(({ name }) => name)
}
