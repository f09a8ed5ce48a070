import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { runProgram } from '../git/run-program.ts'

/** A repository on GitHub. Others have no program here. */
export interface Forge {
  host: string
  /** `owner/repository` */
  repository: string
}

export interface PullRequest {
  forge: Forge
  branch: string
  /** Null: the default branch of the repository there. */
  base: string | null
  title: string
  body: string
  isDraft?: boolean | undefined
  /** Of the program that opens it. */
  marker?: string | undefined
}

export type OpenedPullRequest = { kind: 'opened'; url: string } | { kind: 'failed'; reason: string }

/** Whether a pull request can be opened where a branch is pushed to; the reason if not. */
export async function forgeOf(url: string): Promise<Forge | { reason: string }> {
  const [, host = '', repository = ''] =
    /^(?:(?:https?|ssh):\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/|(?:[^/@:]*@)?([^/:]+):)(.*)$/
      .exec(url)
      ?.filter((part, at) => at === 0 || part !== undefined) ?? []
  const place = repository.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  if (!/(^|\.)github\./.test(host) || !/^[\w.-]+\/[\w.-]+$/.test(place))
    return {
      reason: `Only for GitHub: open the pull request where ${host || 'the remote'} shows the branch.`,
    }
  if (!(await isInstalled('gh')))
    return { reason: 'The program gh is not installed: https://cli.github.com, then gh auth login.' }
  return { host: host.toLowerCase(), repository: place }
}

export function pullRequestCommand({ forge, branch, base, title, isDraft }: PullRequest): string[] {
  return [
    ...['gh', 'pr', 'create', '--repo', `${forge.host}/${forge.repository}`, '--head', branch],
    ...(base === null ? [] : ['--base', base]),
    ...(isDraft ? ['--draft'] : []),
    ...['--title', title, '--body-file', '-'],
  ]
}

/**
 * Through the user's own `gh`. Not in the folder of the repository: gh asks git there, and its git would run what the
 * config of the repository names.
 */
export async function openPullRequest(request: PullRequest): Promise<OpenedPullRequest> {
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-pull-request-'))
  try {
    const [program = '', ...args] = pullRequestCommand(request)
    const source = processEnv()
    // gh sends the token of GitHub Enterprise to any host but GitHub's own, and the host is the repository's to say.
    const isEnterprise = source.GH_HOST?.toLowerCase() === request.forge.host
    const allow = isEnterprise ? [...GH_VARIABLES, ...ENTERPRISE_VARIABLES] : GH_VARIABLES
    const { env } = buildChildEnv({ source, allow })
    const { code, stdout, stderr } = await runProgram(program, args, {
      cwd: folder,
      env: { ...env, GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1', NO_COLOR: '1' },
      input: request.body,
      timeoutMs: TIMEOUT_MS,
      marker: request.marker,
    })
    const url = /https?:\/\/\S+/.exec(stdout)?.[0]
    if (code === 0 && url !== undefined) return { kind: 'opened', url }
    const why = code === null ? 'it took too long' : stderr.trim().slice(0, MAX_WORDS) || 'it gave no address'
    return { kind: 'failed', reason: `gh: ${why}` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Where gh finds the user's sign-in. */
const GH_VARIABLES = ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_CONFIG_DIR']
const ENTERPRISE_VARIABLES = ['GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN']
const TIMEOUT_MS = 2 * 60_000
const MAX_WORDS = 500

async function isInstalled(program: string): Promise<boolean> {
  const folders = (processEnv().PATH ?? '').split(path.delimiter).filter(folder => path.isAbsolute(folder))
  const found = folders.map(folder => access(path.join(folder, program), constants.X_OK))
  return (await Promise.allSettled(found)).some(({ status }) => status === 'fulfilled')
}
