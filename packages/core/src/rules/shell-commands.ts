/** A part of a command, and the positions where a program name can start. */
export interface ShellPart {
  text: string
  starts: number[]
}

/**
 * Every part of a command that could run as a command of its own, without quotes. Splits at operators even inside
 * quotes, so it finds too much rather than too little.
 */
export function* shellParts(command: string): Generator<ShellPart> {
  const inner = unwrapShell(command)
  yield* partsOfCommand(inner)
  const expanded = expandShell(inner)
  if (expanded !== inner) yield* partsOfCommand(expanded)
}

function* partsOfCommand(command: string): Generator<ShellPart> {
  const plain = command
    .replace(/\\\r?\n/g, '')
    .replace(/\$\{?IFS\}?/gi, ' ')
    .replace(/\$(?=['"])/g, '')
    .replace(BRACES, (all, before: string, inner: string, after: string) =>
      before + after === ''
        ? all
        : inner
            .split(',')
            .map(word => before + word + after)
            .join(' '),
    )
    .replace(/\{([^{}\s]+)\}/g, (braces, inner: string) =>
      inner.includes(',') ? `;${inner.replaceAll(',', ' ')};` : braces,
    )
    // The command in an option, an alias or an editor call starts after its sign.
    .replace(RUNS_OPTION, ' ; ')
  yield* partsOfPlain(plain)
  // The words that run the rest stay in the form above: a rule can be about them.
  const inner = plain
    .replace(RUNS_REST, ' env ')
    .replace(RUNS_ELSEWHERE, ' ssh ')
    .replace(GIT_PROGRAM, 'git ')
  if (inner !== plain) yield* partsOfPlain(inner)
}

function* partsOfPlain(plain: string): Generator<ShellPart> {
  yield* partsOf(plain.replace(REDIRECTION, ' '), { everywhere: FEEDS_SHELL.test(plain) ? 'all' : 'none' })
  // The end of a redirection's file name is not always clear, so a program can start anywhere after it.
  for (const behind of plain.split(/[<>]/).slice(1)) yield* partsOf(behind, { everywhere: 'first' })
}

function* partsOf(
  plain: string,
  { everywhere }: { everywhere: 'all' | 'first' | 'none' },
): Generator<ShellPart> {
  let isFirst = true
  for (const segment of plain.split(OPERATOR)) {
    const raw = segment.trim().replace(/\s+/g, ' ')
    if (raw !== '') {
      yield { text: raw, starts: [0] }
      const text = raw.replace(/['"\\]/g, '').trim()
      yield { text, starts: programPlaces(text, everywhere === 'all' || (everywhere === 'first' && isFirst)) }
    }
    isFirst = false
  }
}

/** Codex runs everything as `/bin/bash -lc '…'`. The text in simple quotes is the command; otherwise the whole is. */
export function unwrapShell(command: string): string {
  const match = SHELL_WRAPPER.exec(command)
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? command
}

const SHELL_WRAPPER =
  /^(?:\/(?:usr\/)?(?:local\/)?bin\/)?(?:ba|z|da)?sh -l?c (?:'([^']*)'|"([^"`$\\]*)"|([^\s'"`$\\;&|<>(){}*?[\]~#!]+))$/
const OPERATOR = /[;&|\n\r()`{}<>]/
/** Excludes `<<<`, which a program can follow. */
const REDIRECTION = /\d{0,3}(?:>[>|]?|(?<!<)<<?(?!<))&?\s*[^\s;&|()<>`]+/g

/**
 * The positions of words, and of the names after their last slash: at the start of the command, and everywhere after a
 * wrapper.
 */
function programPlaces(text: string, from: boolean): number[] {
  const places: number[] = []
  let everywhere = from
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    const name = word.slice(word.lastIndexOf('/') + 1)
    places.push(index, index + word.length - name.length)
    if (everywhere || SHELL_WORDS.has(word)) continue
    if (!WRAPPERS.has(name.toLowerCase()) && !LOADER.test(name) && !ASSIGNMENT.test(word)) break
    everywhere = true
  }
  return places
}

/** A value with spaces cannot be distinguished from a command after the assignment. */
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/
const SHELL_WORDS = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', 'coproc', '!', '$'])

/** Programs that run their arguments as a command. */
export const WRAPPERS: ReadonlySet<string> = new Set(
  (
    'sudo doas su env command exec builtin eval nohup nice ionice setsid stdbuf timeout time xargs parallel find fd watch ' +
    'strace ltrace busybox bash sh zsh dash ksh fish script ssh docker podman chroot unshare flock caffeinate npx trap alias ' +
    'ash mksh rbash csh tcsh pwsh toybox bunx uvx runuser sg pkexec run0 gosu su-exec fakeroot proot bwrap firejail nsenter ' +
    'systemd-run dbus-run-session xvfb-run chrt taskset prlimit choom uclampset numactl cgexec setarch linux32 linux64 chpst ' +
    'softlimit eatmydata chronic unbuffer catchsegv valgrind gdb entr dtach screen tmux expect hyperfine nix-shell ' +
    'cpulimit tini dumb-init catatonit watchexec nodemon concurrently mosh fdfind nu xonsh elvish microk8s corepack osascript ' +
    'gxargs gfind cross-env dotenv shx powershell cmd cmd.exe powershell.exe ansible adb lxc incus multipass distrobox'
  ).split(' '),
)
/** The dynamic loader runs the program in its argument. */
const LOADER = /^ld(?:-[\w.-]+)?\.so(?:\.\d+)*$/
/** `src/{a,b}.ts`, `-{r,f}`: a word with words in it. */
const BRACES = /(?<![^\s{}])([^\s{}]*)\{([^{}\s]*,[^{}\s]*)\}([^\s{}]*)/g
/** `/usr/lib/git-core/git-reset --hard` */
const GIT_PROGRAM = /(?<![\w.-])git-(?=[a-z][a-z-]*(?![\w/.-]))/g
/** Two words that run the rest as a command, where the first alone does not. */
const RUNS_REST =
  /(?<![\w./-])(?:(?:npm|pnpm|yarn|bun|bundle|mise|direnv|lerna|nx|aws-vault|chamber)\s+(?:[^\s;&|]+\s+){0,5}?(?:exec|x|dlx)|(?:poetry|uv|conda|pipenv|hatch|pipx|op|doppler|infisical|dotenvx|teller)\s+(?:[^\s;&|]+\s+){0,5}?run|nix\s+(?:develop|shell|run)\s[^;&|]{0,99}?(?:-c|--command)|git\s[^;&|]{0,99}?(?:bisect\s+run|submodule\s+foreach|rebase\s[^;&|]{0,99}?(?:-x|--exec)))(?![\w-])/g
/** `kubectl exec pod -- rm -rf /data`. */
const RUNS_ELSEWHERE = /(?<![\w./-])(?:kubectl|oc|k|heroku)\s[^;&|]{0,199}?\s--(?=\s)/g
/** `--checkpoint-action=exec=`, `--to-command=`, `alias.x=!`, `-c '!`, `-o ProxyCommand=`, `'\\! rm'` of psql, `'.shell rm'` of sqlite3. */
const RUNS_OPTION =
  /(?:-[\w-]{0,60}(?:command|exec|action|cmd|split-string)(?:=exec)?=|(?<=[\s"'=:])!(?=[\w/])|(?:proxy|local)command=|(?<=["'\s])(?:\\+!|\.(?:shell|system)\s))/gi
/** A shell that reads its commands from another one's output or from a device file. */
export const FEEDS_SHELL =
  /\|&?\s*(?:sudo\s+)?(?:\S{0,99}\/)?(?:(?:ba|z|da|k|a|mk|rba|c|tc|fi)?sh|at|batch)(?![\w-])|(?<!\S)(?:source|\.|(?:ba|z|da|k)?sh)\s[^;&|\n]{0,99}<\(/

/**
 * Expands a command as a shell does before it looks for programs, as far as the text alone allows: `$'\x72m'`,
 * variables that the command sets (all others are empty), defaults, `$(echo …)` and `$(which …)`. Only for `deny` and `ask` rules.
 */
export function expandShell(command: string): string {
  const decoded = command
    .replace(ANSI_QUOTED, (_, quoted: string) => quoted.replace(ESCAPE, unescaped))
    .replace(PROGRAM_FILE, (_, inner: string, ticked: string) => inner ?? ticked)
  return withVariables(decoded.replace(ECHO, (_, inner: string, ticked: string) => inner ?? ticked))
}

const ANSI_QUOTED = /\$'((?:[^'\\]|\\.)*)'/g
const ESCAPE = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|([0-7]{1,3})|(.))/gi
/** `$(which rm) -rf x` */
const PROGRAM_FILE =
  /\$\(\s*(?:which|command\s+-v|type\s+-[pP])\s+([\w./-]+)\s*\)|`\s*(?:which|command\s+-v|type\s+-[pP])\s+([\w./-]+)\s*`/g
const ECHO = /\$\(\s*(?:echo|printf)\s([^()`]*)\)|`\s*(?:echo|printf)\s([^`]*)`/g

function unescaped(_: string, hex?: string, unicode?: string, octal?: string, letter = ''): string {
  const digits = hex ?? unicode
  if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16))
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
  return 'tnrvf'.includes(letter) ? ' ' : letter
}

function withVariables(command: string): string {
  if (!command.includes('$')) return command
  const values = new Map<string, string>()
  for (const [, name = '', value = ''] of command.matchAll(ASSIGNED))
    values.set(name, value.replace(/^(["'])(.*)\1$/, '$2'))
  return command.replace(VARIABLE, (_, braced?: string, otherwise?: string, bare?: string) => {
    const name = braced ?? bare
    return (name === undefined ? undefined : values.get(name)) ?? otherwise ?? ''
  })
}

const ASSIGNED = /(?<![\w$-])([a-z_]\w*)=("[^"$`]*"|'[^']*'|[^\s;&|()<>`'"$]*)/gi
const VARIABLE = /\$\{([a-z_]\w*)(?::?[-=+]([^{}]*))?\}|\$([a-z_]\w*)|\$[@*]/gi
