import { FEEDS_SHELL, WRAPPERS } from './shell-commands.ts'

/**
 * The forms of a command in which dangers are looked for. Text that no program runs is hidden in the first one:
 * `git commit -m "mend; rm -rf was wrong"` deletes nothing. The others show what the first hides: commands in a setting
 * or an alias, in text that a shell gets through a pipe, and in the code of an interpreter.
 */
export function commandForms(written: string): string[] {
  const command = withoutComments(written)
  // `stash@{0}` is one word.
  const hidden = withoutText(command).replace(/@\{[^{}\s]{0,99}\}/g, place => place.replace(MEANS_MORE, hide))
  const forms = [hidden]
  const split = hidden.replace(GIVEN_COMMAND, ' ; ')
  if (split !== hidden) forms.push(split)
  if (GIVEN_ALIAS.test(hidden)) forms.push(hidden.replace(GIVEN_ALIAS, ' ; git '))
  if (PIPED_TO_SHELL.test(hidden)) forms.push(command.replace(/["']/g, ' ; '))
  if (runsWhatItWrites(command)) forms.push(command.replace(/["'>]/g, ' ; '))
  if (INTERPRETER.test(command) && RUNS_COMMANDS.test(command))
    forms.push(command.replace(BETWEEN_STRINGS, ' ').replace(BEFORE_STRING, ' ; ').replace(/[[\]]/g, ' ; '))
  return forms
}

/** `echo 'rm -rf x' > a.sh; sh a.sh` */
function runsWhatItWrites(command: string): boolean {
  if (!/(?<![\w.-])(?:echo|printf)\s/.test(command)) return false
  return [...command.matchAll(WRITTEN_FILE)]
    .slice(0, MAX_WRITTEN_FILES)
    .some(({ 1: file = '', 0: all, index }) => {
      const [, ...behind] = command.slice(index + all.length).split(file, MAX_WRITTEN_FILES)
      let before = command.slice(index + all.length).split(file, 1)[0] ?? ''
      for (const next of behind) {
        if (RUNS_WRITTEN.test(before.slice(-99))) return true
        before = next
      }
      return false
    })
}

const MAX_WRITTEN_FILES = 20
const WRITTEN_FILE = />>?\s*["']?(?:\.\/)?([\w./-]+)/g
/** Before the name of the file. */
const RUNS_WRITTEN =
  /(?:(?<![\w.-])(?:(?:ba|z|da|k|a|fi)?sh|source|\.|eval|exec|chmod\s[^;&|\n]{1,40})\s[^;&|\n]{0,40}|(?:^|[;&|\n])\s*(?:\S{0,40}\/)?)["']?(?:\.\/)?$/

/** `npm publish # --dry-run did work`: what stands in a comment is no option. */
function withoutComments(command: string): string {
  // In `$'it\'s'` it is not clear to this expression where the quotes end.
  if (!command.includes('#') || command.includes("$'")) return command
  return command.replace(COMMENTS, (_, quoted?: string, before = '') => quoted ?? before)
}

/** The text of a form as it was written. */
export function asWritten(text: string): string {
  return text.replace(HIDDEN, mark => String.fromCharCode(mark.charCodeAt(0) - HIDDEN_FROM))
}

/** `node -e …`, `python3 - <<EOF`. */
export const INTERPRETER =
  /(?:^|[\s"'/=(])(?:python[\d.]*|pypy3?|node|deno|bun|ruby|perl|php|tsx|ts-node)(?=["'\s]|$).{0,500}?(?:\s-\w*[ceEpr](?=["'\s]|$)|\s--(?:eval|print|execute)|\seval\s|<<|\s-(?:\s|$))/s
/** Functions that start programs. */
const RUNS_COMMANDS =
  /\b(?:system|popen\d?|spawn\w*|exec\w*|shell_exec|passthru|proc_open|check_call|check_output|call|run)\s*\(|\bsubprocess\b|%x|\bqx\b|`|\bsystem\s/
/** `'git', ['reset', '--hard']`: the words of one command. */
const BETWEEN_STRINGS = /(["'])\s*,\s*\[?\s*\1/g
/** `system "rm -rf x"` */
const BEFORE_STRING = /\b(?:system|exec|spawn)\s+(?=["'])/g

const COMMENTS = /('[^']*'|"(?:[^"\\]|\\.)*"|\\.)|(^|[\s;&|(])#[^\n]*/g
/** A program in a setting or a variable of git, or the name of a shell's alias: what follows is run. */
const GIVEN_COMMAND =
  /(?<![\w.-])(?:(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|sequence\.editor|diff\.external|credential\.helper|gpg\.program|(?:diff|merge)tool\.[\w-]+\.cmd)=|(?:GIT_(?:SEQUENCE_)?EDITOR|GIT_PAGER|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|EDITOR|VISUAL|PAGER)=|alias\s+(?:-\w+\s+)?[\w.-]+=)/gi

/** `GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='reset --hard'` */
const GIVEN_ALIAS = /(?<!\w)GIT_CONFIG_VALUE_\d+=/g

function withoutText(command: string): string {
  const hidden = withoutQuotedText(withoutHereText(command))
  // What a shell gets through a pipe is no text, whatever printed it.
  return FEEDS_SHELL.test(hidden) || PIPED_TO_SHELL.test(hidden) ? command : hidden
}

const PIPED_TO_SHELL = /\|[^|;&\n]*(?<![\w.-])(?:(?:ba|z|da|k|a|fi)?sh|ssh|eval)(?![\w.-])/

/** `cat > notes.md <<EOF …`: the lines are text, unless something after them could run the file. */
function withoutHereText(command: string): string {
  const count = command.split('<<').length - 1
  // The end of each is looked for in all that follows.
  if (count === 0 || count > MAX_HERE_TEXTS) return command
  return command.replace(
    HERE_TEXT,
    (all, head: string, quote: string, _word: string, rest: string, body: string, at: number) => {
      const isRead = quote === '' && /\$\(|`/.test(body)
      const after = command.slice(at + all.length)
      if (isRead || RUNS_FILE.test(after) || RUNS_FILE.test(rest)) return all
      if (RUNS_NEXT.test(command.slice(Math.max(0, at - 200), at))) return all
      return `${head}${quote}TEXT${quote}${rest}\n`
    },
  )
}

const MAX_HERE_TEXTS = 50
const HERE_TEXT =
  /((?:^|[\n;&|(`])[ \t]*(?:cat|tee|git|gh|glab)\b[^\n;&|<]{0,1000}<<-?[ \t]*)(["']?)(\w+)\2([^\n]*)\n([\s\S]*?)\n[ \t]*\3(?=\n|$|[)"' ;&|])/g
/** `eval "$(`, `bash -c "$(`, `bash <(`. */
const RUNS_NEXT = /(?<![\w.-])(?:eval|source|\.|(?:ba|z|da|k|fi)?sh)\s[^;&|\n]{0,99}$/
const RUNS_FILE =
  /(?<![\w.-])(?:(?:ba|z|da|k|fi)?sh|source|\.|eval|chmod|python[\d.]*|node|ruby|perl|php|make|npm|npx|psql|mysql|mariadb|sqlite3|mongosh|redis-cli|xargs|git apply)(?![\w.-])|\.\/\w/

/** Hides blanks and operators in quotes, so that what is quoted is one word. Text with a substitution is kept. */
function withoutQuotedText(command: string): string {
  let state: 'program' | 'arguments' | 'text' = 'program'
  let isGit = false
  let isWrapped = false
  return command.replace(
    PIECE,
    (piece, quoted: string | undefined, operator: string | undefined, word = '') => {
      if (operator !== undefined) {
        state = 'program'
        isWrapped = false
      } else if (quoted !== undefined) {
        if (state === 'text') return RUN_ANYWAY.test(quoted) ? piece : quoted.replace(MEANS_MORE, hide)
        if (state === 'program') state = 'arguments'
      } else if (state === 'program') {
        state = stateAfter(word)
        isWrapped ||= state === 'program'
        isGit = /(?:^|\/)git$/.test(word)
      } else if ((isGit && GIT_RUNS.test(word)) || (isWrapped && /^--(?:run|command)$/.test(word)))
        state = 'arguments'
      else if (state === 'arguments' && FIND_RUNS.test(word)) state = 'program'
      return piece
    },
  )
}

function stateAfter(word: string): 'program' | 'arguments' | 'text' {
  const name = word.slice(word.lastIndexOf('/') + 1)
  if (BEFORE_PROGRAM.test(word) || WRAPPERS.has(name.toLowerCase())) return 'program'
  return TEXT_PROGRAMS.test(name) ? 'text' : 'arguments'
}

const PIECE = /('[^']*'|"(?:[^"\\]|\\.)*")|([;&|\n(`])|([^\s;&|\n(`'"]+)/g
/** In double quotes a substitution is run; what starts with `!` is a shell command for git and gh. */
const RUN_ANYWAY = /^"[\s\S]*(?:\$\(|`)|^["']\s*!/
const GIT_RUNS =
  /^(?:foreach|run|-x|--exec=?|--extcmd=?|--[a-z]+-filter=?|(?:core|sequence|diff|credential|gpg)\.\S*=)$/i
const FIND_RUNS = /^(?:-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch)$/
const BEFORE_PROGRAM = /^(?:[A-Za-z_]\w*\+?=.*|-.*|\d+|[{}%]+|!|\$|if|then|else|elif|do|while|until|coproc)$/
/** Programs that never run their arguments, or whose code is looked at by itself. */
const TEXT_PROGRAMS =
  /^(?:echo|printf|e?grep|fgrep|rg|ag|git|gh|glab|jq|sed|curl|wget|vitest|jest|mocha|pytest|playwright|python[\d.]*|pypy3?|node|deno|bun|ruby|perl|php|tsx|ts-node)$/
const MEANS_MORE = /[\s;&|(){}<>!#*]/g

/** A range of characters that nobody writes. */
const HIDDEN_FROM = 0xe000
const HIDDEN = /[\ue000-\ue07f]/g

function hide(mark: string): string {
  const code = mark.charCodeAt(0)
  return code < 0x80 ? String.fromCharCode(HIDDEN_FROM + code) : mark
}
