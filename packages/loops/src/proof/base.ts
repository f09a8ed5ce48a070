import { readTextCarefully } from '@chirality/disk'
import { type CheckResult, checkRecordOf, hasPassed } from '../checks.ts'
import type { CheckRun } from './counted-check.ts'
import type { BaseResult } from './verdict.ts'

/** Runs a check before anything is changed. A failed one is run again: one that then passes says nothing either way. */
export async function baseOf(
  command: string,
  run: (command: string) => Promise<CheckRun>,
  folder: string,
): Promise<BaseResult> {
  const first = await run(command)
  if (hasPassed(first.result)) return baseResult(first, 'green')
  if (missingIn(first.result, await declaredIn(folder)) !== undefined) return baseResult(first, 'missing')
  const second = await run(command)
  return hasPassed(second.result) ? baseResult(first, 'flaky') : baseResult(second, 'red')
}

export function baseResult({ result, counted, uncounted }: CheckRun, state: BaseResult['state']): BaseResult {
  const { command, exitCode, tail } = checkRecordOf(result)
  return { command, state, exitCode, tail, counted, ...(uncounted === undefined ? {} : { uncounted }) }
}

/** Dependencies that the project names, as text. */
async function declaredIn(folder: string): Promise<string> {
  const read = async (name: string) => {
    const found = await readTextCarefully({ root: folder, path: name, links: 'inside', maxBytes: MAX_BYTES })
    return found !== undefined && 'text' in found ? found.text : ''
  }
  return (await Promise.all(MANIFESTS.map(read))).join('\n')
}

const MAX_BYTES = 1024 * 1024
const MANIFESTS = [
  'package.json',
  'pyproject.toml',
  'setup.cfg',
  'setup.py',
  'requirements.txt',
  'requirements-dev.txt',
]

/**
 * The program or package that a failed check could not find. A file of the project is none, nor is a package that the
 * project does not name: a task may be there to bring it.
 */
function missingIn(
  { exitCode, output }: Pick<CheckResult, 'exitCode' | 'output'>,
  declared: string,
): string | undefined {
  if (exitCode === null || exitCode === 0) return undefined
  if (exitCode === 126 || exitCode === 127) {
    const name = PROGRAM.map(pattern => pattern.exec(output)?.[1]).find(Boolean)
    return name !== undefined && isOfProject(name) ? undefined : (name ?? 'a program')
  }
  const name = PACKAGE.map(pattern => pattern.exec(output)?.[1]).find(Boolean)
  const [first = '', second] = (name ?? '').split('/')
  const named = first.startsWith('@') ? `${first}/${second ?? ''}` : first.split('.')[0]
  return named && declared.includes(named) ? named : undefined
}

function isOfProject(name: string): boolean {
  return (
    name.includes('/') && !/(^|\/)(node_modules|\.venv|venv|vendor)\//.test(name) && !name.startsWith('/')
  )
}

/** Words of sh, bash, dash and env for a missing program. */
const PROGRAM = [
  /(?:^|\n)(?:\/bin\/)?(?:sh|bash|dash)(?:: line)?(?::| ) ?\d*: (\S+): (?:not found|command not found|Permission denied|No such file)/,
  /(?:^|\n)\S*: (?:\d+: )?(\S+): (?:not found|command not found|Permission denied)/,
  /env: [\u2018'"]?([^\s\u2019'"]+)[\u2019'"]?: No such file/,
]
const PACKAGE = [
  /Cannot find (?:package|module) '([^']+)'/,
  /ModuleNotFoundError: No module named '([^']+)'/,
  /No module named ([\w.]+)\s*$/m,
  /error: no such command: `([^`]+)`/,
]

/** Why a loop does not begin, and what to do. */
export function missingWords(results: readonly BaseResult[], setup: readonly string[]): string | undefined {
  const missing = results.filter(({ state }) => state === 'missing')
  if (missing.length === 0) return undefined
  const lines = missing.map(({ command, exitCode, tail }) => {
    const said = tail
      .trim()
      .split('\n')
      .find(line => /not found|cannot find|no (such|module)|denied/i.test(line))
    return `\`${command}\` exits with ${exitCode}${said === undefined ? '' : `: ${said.trim().slice(0, 200)}`}.`
  })
  const remedy =
    setup.length === 0
      ? 'A new worktree has only what is committed. Write how to make the rest into the front matter of the list (setup: npm ci), or share its folder with worktrees in your set-up of worktrees (docs/workspaces.md).'
      : `The set-up (${setup.join('; ')}) does not bring it. Mend the set-up or the check.`
  return `The checks cannot run on the commit that the loop begins at, so no agent was asked and nothing was spent. ${lines.join(' ')} ${remedy}`
}
