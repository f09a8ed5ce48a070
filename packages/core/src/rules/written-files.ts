import { shellParts, unwrapShell } from './shell-commands.ts'

/**
 * The files that a command visibly writes: after a redirection, and as arguments of programs that change files. One too
 * many when in doubt. `folders` are those it changes into first.
 */
export function writtenFiles(command: string): { files: string[]; folders: string[] } {
  const files = new Set<string>()
  const folders = new Set<string>()
  for (const [, quoted, bare] of unwrapShell(command).matchAll(REDIRECTED))
    files.add(unquoted(quoted ?? bare))
  for (const { text, starts } of shellParts(command)) {
    for (const at of starts) {
      const [program = '', ...args] = text.slice(at).split(' ')
      const names = args.filter(arg => !arg.startsWith('-')).map(unquoted)
      if (program === 'cd' || program === 'pushd') for (const name of names) folders.add(name)
      for (const name of changed(program, args, names)) files.add(name)
    }
  }
  return { files: [...files].filter(Boolean), folders: [...folders].filter(Boolean) }
}

function changed(program: string, args: string[], names: string[]): string[] {
  if (CHANGE_ALL.has(program)) return names
  if (CHANGE_LAST.has(program)) {
    const into = /(?:^| )(?:-t|--target-directory)[ =]?(\S+)/.exec(args.join(' '))?.[1]
    return into === undefined ? names.slice(-1) : [unquoted(into)]
  }
  switch (program) {
    case 'sed':
    case 'perl':
      return args.some(arg => /^-[a-zA-Z]*i|^--in-place/.test(arg)) ? names : []
    case 'dd':
      return names.flatMap(name => (name.startsWith('of=') ? [name.slice('of='.length)] : []))
    case 'curl':
    case 'wget':
      return args.flatMap((arg, index) => {
        if (/^-[a-zA-Z]*[oO]$|^--output(?:-document)?$/.test(arg)) return [unquoted(args[index + 1] ?? '')]
        return /^--output(?:-document)?=(.+)$/.exec(arg)?.slice(1) ?? []
      })
    default:
      return []
  }
}

const CHANGE_ALL = new Set(
  'tee mv touch rm rmdir unlink mkdir truncate shred chmod chown patch vi vim ed ex nano sponge'.split(' '),
)
const CHANGE_LAST = new Set(['cp', 'install', 'ln', 'rsync', 'scp'])
/** Excludes `2>&1`, includes `>&file` and `&>file`. */
const REDIRECTED = />[>|]?&?\s*(?:("[^"\n]*"|'[^'\n]*')|([^\s;&|()<>"'`]+))/g

function unquoted(text = ''): string {
  return text.replace(/["'\\]/g, '')
}
