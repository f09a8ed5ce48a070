/**
 * Every text in a command that could be run as a command of its own. Splits at operators whether they are quoted or not:
 * too many are looked at, never too few.
 */
export function commandsIn(command: string): string[] {
  const plain = unwrapShell(command)
    .replace(/\\\r?\n/g, '')
    .replace(/\$\{?IFS\}?/g, ' ')
    .replace(REDIRECTION, ' ')
  const found = new Set<string>()
  for (const segment of plain.split(OPERATOR)) {
    const raw = segment.trim().replace(/\s+/g, ' ')
    if (raw === '') continue
    found.add(raw)
    for (const words of runnable(
      raw
        .replace(/['"\\]/g, '')
        .trim()
        .split(/\s+/),
    )) {
      found.add(words.join(' '))
      const [program = '', ...rest] = words
      found.add([program.slice(program.lastIndexOf('/') + 1), ...rest].join(' '))
    }
  }
  return [...found]
}

/** Codex runs everything as `/bin/bash -lc '…'`. What stands in simple quotes is the command; else the whole is. */
export function unwrapShell(command: string): string {
  const match = SHELL_WRAPPER.exec(command)
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? command
}

const SHELL_WRAPPER =
  /^(?:\/(?:usr\/)?(?:local\/)?bin\/)?(?:ba|z|da)?sh -l?c (?:'([^']*)'|"([^"`$\\]*)"|([^\s'"`$\\;&|<>(){}*?[\]~#!]+))$/
const OPERATOR = /[;&|\n\r()`{}<>]/
const REDIRECTION = /\d*(?:>>?|<{1,3})&?\s*[^\s;&|()<>]+/g

/** The words from each place where a program's name can stand. */
function runnable(words: string[]): string[][] {
  let start = 0
  while (start < words.length - 1 && SKIPPED.test(words[start] ?? '')) start += 1
  const first = words[start] ?? ''
  const runs = [words.slice(start)]
  if (!WRAPPERS.has(first.slice(first.lastIndexOf('/') + 1).toLowerCase())) return runs
  for (let at = start + 1; at < words.length; at += 1) runs.push(words.slice(at))
  return runs
}

/** Assignments, and words of the shell before a command. */
const SKIPPED = /^(?:[A-Za-z_]\w*\+?=.*|if|then|else|elif|do|while|until|!|\$)$/

/** Programs that run what stands behind them. */
const WRAPPERS = new Set(
  (
    'sudo doas su env command exec builtin eval nohup nice ionice setsid stdbuf timeout time xargs parallel find fd watch ' +
    'strace ltrace busybox bash sh zsh dash ksh fish script ssh docker podman chroot unshare flock caffeinate npx'
  ).split(' '),
)
