/** Words in the commands of checks about the files that they run and read, scripts of a package.json included. */
export interface CheckWords {
  /** Files, folders and patterns that a command names, without those that it only looks into. */
  named: string[]
  /** Files that a command only looks into: a task makes them. */
  looked: string[]
  /** The names of the scripts that are run, by all commands together. */
  scripts: string[]
  /** Files of `named` that a runner loads before the tests: they are no work, wherever they lie. */
  loaded: string[]
  /** True if anything is run that could load a file by itself. */
  runs: boolean
}

export type Scripts = Readonly<Record<string, string>>

export function wordsOf(checks: readonly string[], scripts: Scripts): CheckWords {
  const named = new Set<string>()
  const looked = new Set<string>()
  const loaded = new Set<string>()
  const run = new Set<string>()
  const open = [...checks]
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    for (const words of commandsIn(text)) {
      const into = ONLY_LOOKS.has(words[0] ?? '') ? looked : named
      for (const word of words) for (const part of word.split('=')) into.add(tidy(part))
      for (const [at, word] of words.entries())
        if (LOADS.test(word))
          loaded.add(tidy(word.includes('=') ? (word.split('=')[1] ?? '') : (words[at + 1] ?? '')))
      for (const name of scriptsRunBy(words, scripts)) {
        if (run.has(name)) continue
        run.add(name)
        open.push(scripts[name] ?? '')
      }
    }
  }
  const list = (words: Set<string>) => [...words].filter(Boolean)
  return {
    named: list(named),
    looked: list(looked),
    loaded: list(loaded),
    scripts: [...run].sort(),
    runs: named.size > 0,
  }
}

/** Each simple command as its words, without what is set before it. */
function commandsIn(text: string): string[][] {
  const commands: string[][] = [[]]
  for (const [token] of text.matchAll(/'[^']*'|"(?:\\.|[^"\\])*"|&&|\|\||[;|&\n()<>]|[^\s'"&|;()<>]+/g))
    if (/^(?:&&|\|\||[;|&\n()]|do|then|else)$/.test(token)) commands.push([])
    else commands.at(-1)?.push(token.replace(/^(['"])(.*)\1$/s, '$2'))
  return commands
    .map(words => {
      const first = words.findIndex(word => !/^\w+=/.test(word) && !SKIPPED.has(word))
      return first < 0 ? [] : words.slice(first)
    })
    .filter(words => words.length > 0)
}

/** `npm test`, `npm run x`, `pnpm x`, `node --run x`, `npm-run-all a b:*`: every word that is the name of a script. */
function scriptsRunBy(words: readonly string[], scripts: Scripts): string[] {
  if (!words.some(word => MANAGER.test(word))) return []
  const asked = words.flatMap(word => (word === 't' || word === 'tst' ? ['test'] : [word]))
  const found = Object.keys(scripts).filter(name =>
    asked.some(word => word === name || (word.endsWith('*') && name.startsWith(word.slice(0, -1)))),
  )
  return found
    .flatMap(name => [name, `pre${name}`, `post${name}`])
    .filter(name => scripts[name] !== undefined)
}

function tidy(word: string): string {
  return word
    .replace(/^\.\//, '')
    .replace(/[,:;]+$/, '')
    .replace(/\/+$/, '')
}

const LOADS =
  /^(?:-r|--(?:require|import|loader|experimental-loader|file|preload|setupFiles\w*|globalSetup|global-setup|setup-?file\w*))(?:=|$)/
const MANAGER = /^(npm|pnpm|yarn|bun|npx|node|run-s|run-p|npm-run-all|concurrently|turbo|nx|lerna|wireit)$/
const SKIPPED = new Set([
  '!',
  'env',
  'time',
  'exec',
  'command',
  'nice',
  'if',
  'while',
  'for',
  '{',
  'cross-env',
  'sudo',
])
/** They say something of a file, and run nothing of it: the file is what a task makes. */
const ONLY_LOOKS = new Set([
  ...[
    'test',
    '[',
    '[[',
    'grep',
    'egrep',
    'fgrep',
    'rg',
    'cat',
    'ls',
    'wc',
    'head',
    'tail',
    'stat',
    'file',
    'jq',
  ],
  ...[
    'diff',
    'cmp',
    'echo',
    'printf',
    'cd',
    'sha256sum',
    'md5sum',
    'sort',
    'uniq',
    'cut',
    'tr',
    'find',
    'git',
  ],
])
