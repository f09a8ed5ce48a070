import type { CallRisk } from '../events/ui-event.ts'
import { asWritten } from './command-text.ts'

/** What going back can restore: it has the files of the work folder and nothing else. */
export const BACK_FILES =
  'In a git project, going back to before this turn restores the files here that git does not ignore; others are lost.'
export const BACK_NO_REFS =
  'Going back to before this turn restores files here, but no branches, tags, stashes or commits.'
export const BACK_NOT_THERE = 'Going back to before this turn changes nothing there.'

/** The dangers of one call of git: `args` as they follow the program. */
export function* gitRisks(args: readonly string[], part: string): Generator<CallRisk> {
  const call = subcommand(args)
  if (call === undefined) return
  for (const [kind, words] of effects(call)) yield { kind, part, words }
  const alias = aliasIn(call)
  if (alias !== undefined && !alias.some(arg => arg.includes('alias.'))) yield* gitRisks(alias, part)
}

/** What `git -c alias.x='reset --hard' x` runs, or what `git config alias.x 'reset --hard'` lets run later. */
function aliasIn({ action, settings, names }: GitCall): string[] | undefined {
  const own = settings.find(setting => setting.startsWith(`alias.${action}=`))
  if (own !== undefined) return asWritten(own.slice(own.indexOf('=') + 1)).split(/\s+/)
  const at = action === 'config' ? names.findIndex(name => name.startsWith('alias.')) : -1
  return at === -1 ? undefined : asWritten(names.slice(at + 1).join(' ')).split(/\s+/)
}

interface GitCall {
  action: string
  /** Without quotes: options before `--`. */
  flags: string[]
  names: string[]
  /** After `--`. */
  paths: string[]
  isEnded: boolean
  /** Options of git itself, before the subcommand. */
  settings: string[]
}

function subcommand(args: readonly string[]): GitCall | undefined {
  let at = 0
  while (at < args.length && (args[at] ?? '').startsWith('-')) at += VALUE.test(args[at] ?? '') ? 2 : 1
  const action = unquoted(args[at] ?? '')
  if (action === '') return undefined
  const rest = args.slice(at + 1).map(unquoted)
  const end = rest.indexOf('--')
  const own = end === -1 ? rest : rest.slice(0, end)
  return {
    action,
    flags: own.filter(arg => arg.startsWith('-')).map(flag => withoutValue(action, flag)),
    names: own.filter(arg => !arg.startsWith('-') && arg !== ''),
    paths: end === -1 ? [] : rest.slice(end + 1),
    isEnded: end !== -1,
    settings: args.slice(0, at).map(unquoted),
  }
}

/** `-m"a draft"` sets no `-d`: the letters after an option with a value are the value. */
function withoutValue(action: string, flag: string): string {
  const letter = SHORT_WITH_VALUE[action]
  return letter === undefined || flag.startsWith('--') ? flag : flag.replace(letter, '$1')
}

const SHORT_WITH_VALUE: Readonly<Record<string, RegExp>> = {
  tag: /([mFu]).*$/,
  clean: /(e).*$/,
  push: /(o).*$/,
  checkout: /([bB]).*$/,
  switch: /([cC]).*$/,
}

/** Options of git itself that take a value. */
const VALUE = /^(?:-[cC]|--git-dir|--work-tree|--namespace|--exec-path|--config-env)$/

type Effect = [kind: CallRisk['kind'], words: string]

function* effects(call: GitCall): Generator<Effect> {
  const { action, flags, names } = call
  const has = (short: string, ...long: string[]) =>
    flags.some(
      flag =>
        long.some(option => isOption(flag, option)) ||
        (short !== '' && new RegExp(`^-[a-zA-Z]*[${short}]`).test(flag)),
    )
  const isDry = has('', '--dry-run') || (['clean', 'push', 'rm', 'prune'].includes(action) && has('n'))
  if (isDry) return
  const name = Object.hasOwn(SAME_AS, action) ? (SAME_AS[action] ?? action) : action
  const [first = ''] = names
  if (Object.hasOwn(EFFECTS, name)) yield* EFFECTS[name]?.({ ...call, has, first }) ?? []
}

interface ReadCall extends GitCall {
  /** Whether one of these options is there: single letters, and long ones. */
  has(short: string, ...long: string[]): boolean
  /** The first name after the command. */
  first: string
}

/** By the command: each says what a call of it throws away. */
const EFFECTS: Readonly<Record<string, (call: ReadCall) => Generator<Effect>>> = {
  *checkout({ has, flags, names, paths, isEnded }) {
    if (has('f', '--force')) yield UNCOMMITTED
    else if (discardsPaths({ flags, names, paths, isEnded })) yield UNCOMMITTED_FILES
    if (has('B')) yield MOVED_BRANCH
    if (has('', '--orphan')) yield ORPHAN
  },
  *switch({ has }) {
    if (has('f', '--force', '--discard-changes')) yield UNCOMMITTED
    if (has('C', '--force-create')) yield MOVED_BRANCH
    if (has('', '--orphan')) yield ORPHAN
  },
  *restore({ has }) {
    const isIndexOnly = has('S', '--staged') && !has('W', '--worktree')
    if (!isIndexOnly && !has('p', '--patch') && !has('', '--help')) yield UNCOMMITTED_FILES
  },
  *reset({ has }) {
    if (has('', '--hard', '--merge', '--keep'))
      yield [
        'history',
        `Throws away changes that are not committed, or moves the branch away from its commits. ${BACK_FILES} The branch stays where this puts it.`,
      ]
  },
  *clean({ has, settings }) {
    const needsNoForce = settings.some(setting => /^clean\.requireforce=(?:false|no|off|0)$/i.test(setting))
    if (has('f', '--force') || (needsNoForce && !has('i', '--interactive')))
      yield ['delete', `Deletes files that git does not know. ${BACK_FILES}`]
  },
  *rm({ has, names, paths }) {
    if (
      !has('', '--cached') &&
      (has('rf', '--force') || [...names, ...paths].some(name => /^(?:\.|:\/|.*\*)$/.test(name)))
    )
      yield ['delete', `Deletes files with everything in them. ${BACK_FILES}`]
  },
  *'checkout-index'({ has }) {
    if (has('f', '--force')) yield UNCOMMITTED
  },
  *'read-tree'({ has }) {
    if (has('', '--reset') && has('u')) yield UNCOMMITTED
  },
  *stash({ first }) {
    if (first === 'drop' || first === 'clear')
      yield ['history', `Deletes work that was put aside with git stash. ${BACK_NO_REFS}`]
  },
  *branch({ has }) {
    if (has('D') || (has('d', '--delete') && has('f', '--force')))
      yield ['history', `Deletes a branch, also if its commits are nowhere else. ${BACK_NO_REFS}`]
    else if (has('MCf', '--force')) yield MOVED_BRANCH
  },
  *tag({ has }) {
    if (has('df', '--delete', '--force')) yield ['history', `Deletes or moves a tag. ${BACK_NO_REFS}`]
  },
  *worktree({ has, first }) {
    if (first === 'remove' && has('f', '--force'))
      yield [
        'history',
        'Deletes a work tree with changes in it that are not committed. Going back to before this turn restores nothing in another work tree.',
      ]
  },
  *submodule({ has, first }) {
    if ((first === 'deinit' || first === 'update') && has('f', '--force'))
      yield [
        'history',
        'Deletes or overwrites the files of a submodule with changes that are not committed. Going back to before this turn restores nothing in a submodule.',
      ]
  },
  *reflog({ first }) {
    if (first === 'expire' || first === 'delete') yield UNREACHABLE
  },
  *gc({ flags, settings }) {
    if (
      flags.some(flag => /^--prune=(?!never)/.test(flag)) ||
      settings.some(setting => /^gc\.\w*expire\w*=(?!never)/i.test(setting))
    )
      yield UNREACHABLE
  },
  *repack({ has }) {
    if (has('a') && has('d') && !has('Ak', '--keep-unreachable')) yield UNREACHABLE
  },
  *prune() {
    yield UNREACHABLE
  },
  *'filter-branch'() {
    yield ['history', `Rewrites the commits of the repository. ${BACK_NO_REFS}`]
  },
  *'update-ref'({ has, first }) {
    if (has('d', '--delete') || has('', '--stdin') || /^(?:refs\/|HEAD$)/.test(first)) yield REFS
  },
  *'symbolic-ref'({ has }) {
    if (has('d', '--delete')) yield REFS
  },
  *notes({ first }) {
    if (first === 'remove' || first === 'prune')
      yield ['history', `Deletes notes of commits. ${BACK_NO_REFS}`]
  },
  *remote({ first }) {
    if (first === 'remove' || first === 'rm')
      yield ['history', `Forgets a server, with the branches that were fetched from it. ${BACK_NO_REFS}`]
  },
  *fetch({ has, names }) {
    // `+refs/heads/*:refs/remotes/origin/*` is what each fetch does.
    if (names.some(name => /^\+[^:]+:(?!refs\/remotes\/)./.test(name))) yield MOVED_BRANCH
    else if (has('f', '--force') && names.some(name => /^[^:]+:(?!refs\/remotes\/|\/).*\w/.test(name)))
      yield MOVED_BRANCH
  },
  *'send-pack'({ has, names, paths }) {
    if (
      has('fd', '--force', '--force-with-lease', '--mirror', '--delete', '--prune') ||
      [...names, ...paths].some(name => /^[+:]./.test(name))
    )
      yield [
        'history',
        `Overwrites or deletes a branch on the server; commits of others can be lost. ${BACK_NOT_THERE}`,
      ]
  },
  *lfs({ first }) {
    if (first === 'prune')
      yield [
        'history',
        'Deletes the copies that this machine has of large files. What the server does not have is lost: going back to before this turn restores only the files of the last commit here.',
      ]
  },
}

/** Commands that do what another one does. */
const SAME_AS: Readonly<Record<string, string>> = {
  'filter-repo': 'filter-branch',
  replace: 'symbolic-ref',
  pull: 'fetch',
  push: 'send-pack',
}

/** Git takes every beginning of an option that only one has: `--har`. */
function isOption(flag: string, option: string): boolean {
  const name = flag.split('=')[0] ?? ''
  return name === option || (name.length >= 5 && option.startsWith(name))
}

/** `git checkout main` goes to a branch; with a path it overwrites files. */
function discardsPaths({
  flags,
  names,
  paths,
  isEnded,
}: Pick<GitCall, 'flags' | 'names' | 'paths' | 'isEnded'>): boolean {
  if (flags.some(flag => /^(?:-[bBtp]|--(?:orphan|track|patch|detach))/.test(flag))) return false
  if (paths.length > 0 || flags.some(flag => flag.startsWith('--pathspec-from-file'))) return true
  if (isEnded) return names.length === 0
  return names.length >= 2 || names.some(name => PATH.test(name))
}

/** A single name that is a path and no branch. */
const PATH =
  /^(?:\.{1,2}|\*+|:\/.*|:\(.*|\.{1,2}\/.*|.*\/|.*\*.*|.*\.(?:[jt]sx?|[cm][jt]s|py|rb|go|rs|java|kt|swift|c|h|cpp|hpp|cs|php|css|scss|html?|json|ya?ml|toml|md|txt|sql|sh|lock|xml|vue|svelte|env|ipynb|tf|gradle|proto|graphql|dart|ex|exs|lua|pl|sass|less|svg|png|csv|cfg|ini|conf|db|sqlite)|(?:.*\/)?(?:Makefile|Dockerfile|LICENSE|README|Gemfile|Rakefile|Procfile|Jenkinsfile|Justfile|CMakeLists\.txt|\.git(?:ignore|attributes|modules)|\.(?:eslintrc|prettierrc|editorconfig|npmrc|nvmrc)))$/i

const UNCOMMITTED: Effect = [
  'history',
  `Throws away changes that are not committed, in all files that git knows. ${BACK_FILES}`,
]
const UNCOMMITTED_FILES: Effect = [
  'history',
  `Throws away changes of files that are not committed. ${BACK_FILES}`,
]
const MOVED_BRANCH: Effect = [
  'history',
  `Overwrites a branch that may exist, whose commits are lost if they are nowhere else. ${BACK_NO_REFS}`,
]
const ORPHAN: Effect = [
  'history',
  `Begins a history without the commits so far, before which files are often deleted. ${BACK_FILES}`,
]
const REFS: Effect = ['history', `Deletes or moves branches and other refs. ${BACK_NO_REFS}`]
const UNREACHABLE: Effect = [
  'history',
  `Deletes the last copies of commits that no branch has any more: after this, lost work cannot be found again. ${BACK_NO_REFS}`,
]

function unquoted(text: string): string {
  return text.replace(/["'\\]/g, '')
}
