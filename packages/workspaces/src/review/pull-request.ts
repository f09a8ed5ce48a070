import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { type ProgramEnd, runProgram } from '../git/run-program.ts'

/** A repository on GitHub or GitLab; other hosts have no program here. */
export interface Forge {
  program: 'gh' | 'glab'
  host: string
  /** `owner/repository`; GitLab allows nested groups. */
  repository: string
}

export interface PullRequest {
  /** The repository with the branch. */
  forge: Forge
  /** The target: the same repository, or the one that it was forked from. */
  into: Forge
  branch: string
  /** Null: the default branch of the target repository. */
  base: string | null
  title: string
  body: string
  isDraft?: boolean | undefined
  /** Marks the program that opens it. */
  marker?: string | undefined
}

export type OpenedPullRequest = { kind: 'opened'; url: string } | { kind: 'failed'; reason: string }

/** The program and repository for a pull request on a remote, or the reason why none can be opened there. */
export async function forgeOf(url: string): Promise<Forge | { reason: string }> {
  const [, given = '', repository = ''] =
    /^(?:(?:https?|ssh):\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/|(?:[^/@:]*@)?([^/:]+):)(.*)$/
      .exec(url)
      ?.filter((part, at) => at === 0 || part !== undefined) ?? []
  const host = given.toLowerCase()
  const place = repository.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const parts = place.split('/')
  const isPath = parts.every(part => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part))
  const program = programFor(host)
  if (program === undefined || !isPath || parts.length < 2 || (program === 'gh' && parts.length > 2))
    return {
      reason: `Only for GitHub and GitLab: open the pull request where ${host || 'the remote'} shows the branch.`,
    }
  if (!(await isInstalled(program)))
    return {
      reason: `The program ${program} is not installed: ${ADDRESS[program]}, then ${program} auth login.`,
    }
  return { program, host, repository: place }
}

/** The forge's own name for a pull request. */
export function requestName({ program }: Pick<Forge, 'program'>): string {
  return program === 'gh' ? 'pull request' : 'merge request'
}

const ADDRESS = { gh: 'https://cli.github.com', glab: 'https://gitlab.com/gitlab-org/cli' }

function programFor(host: string): Forge['program'] | undefined {
  if (/(^|\.)github\./.test(host)) return 'gh'
  return /(^|\.)gitlab\./.test(host) || host === ownGitlab() ? 'glab' : undefined
}

/** The command that opens the pull request; its text is passed as input. */
export function pullRequestCommand({ forge, into, branch, base, title, isDraft }: PullRequest): string[] {
  // `glab mr create` asks git for remotes, guesses a default branch, and fails for a fork without a terminal.
  if (forge.program === 'glab')
    return [
      ...['glab', 'api', '--hostname', into.host, '--method', 'POST', `${project(forge)}/merge_requests`],
      ...['--header', 'Content-Type: application/json', '--input', '-'],
    ]
  const owner = forge.repository === into.repository ? '' : `${forge.repository.split('/')[0]}:`
  return [
    ...['gh', 'pr', 'create', '--repo', `${into.host}/${into.repository}`, '--head', `${owner}${branch}`],
    ...(base === null ? [] : ['--base', base]),
    ...(isDraft ? ['--draft'] : []),
    ...['--title', title, '--body-file', '-'],
  ]
}

/**
 * Opens a pull request through the user's own `gh` or `glab`. Runs outside the repository's folder: there they would
 * call git, which could run what the repository's config names.
 */
export async function openPullRequest(request: PullRequest): Promise<OpenedPullRequest> {
  const folder = await mkdtemp(path.join(tmpdir(), 'chirality-pull-request-'))
  const run = ([program = '', ...args]: string[], input: string) =>
    runProgram(program, args, {
      cwd: folder,
      env: environmentFor(request.into),
      input,
      timeoutMs: TIMEOUT_MS,
      marker: request.marker,
    })
  try {
    return await (request.forge.program === 'gh' ? openOnGitHub : openOnGitLab)(request, run)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Run = (command: string[], input: string) => Promise<ProgramEnd>

async function openOnGitHub(request: PullRequest, run: Run): Promise<OpenedPullRequest> {
  const end = await run(pullRequestCommand(request), request.body)
  const url = /https?:\/\/\S+/.exec(end.stdout)?.[0]
  return end.code === 0 && url !== undefined ? { kind: 'opened', url } : failed('gh', end)
}

async function openOnGitLab(request: PullRequest, run: Run): Promise<OpenedPullRequest> {
  const { into, branch, base, title, body, isDraft } = request
  const asked = await run(['glab', 'api', '--hostname', into.host, project(into)], '')
  const { id, default_branch: usual } = answerOf(asked)
  const target = base ?? usual
  if (typeof id !== 'number' || typeof target !== 'string') return failed('glab', asked)
  const fields = {
    source_branch: branch,
    target_branch: target,
    target_project_id: id,
    description: body,
    title: isDraft ? `Draft: ${title}` : title,
  }
  const end = await run(pullRequestCommand(request), JSON.stringify(fields))
  const url = answerOf(end).web_url
  const isUrl = typeof url === 'string' && /^https?:\/\/\S+$/.test(url)
  return isUrl ? { kind: 'opened', url } : failed('glab', end)
}

function project({ repository }: Forge): string {
  return `projects/${encodeURIComponent(repository)}`
}

/** Empty if the call failed or answered something else. */
function answerOf({ code, stdout }: ProgramEnd): Record<string, unknown> {
  try {
    const answer: unknown = code === 0 ? JSON.parse(stdout) : undefined
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function failed(program: Forge['program'], { code, stderr, stdout }: ProgramEnd): OpenedPullRequest {
  const said = [stderr, program === 'glab' ? stdout : ''].join('\n').trim()
  const words = said.replace(/^glab: /, '').slice(0, MAX_WORDS)
  const why = code === null ? 'it took too long' : words || 'it gave no address'
  return { kind: 'failed', reason: `${program}: ${why}` }
}

/**
 * Environment with the user's sign-in. A token in a variable would be sent to any host, and the repository names the
 * host, so a token is passed to the user's own host only.
 */
function environmentFor({ program, host }: Forge): Record<string, string> {
  const source = processEnv()
  const names: Record<Forge['program'], string[]> = {
    gh: [
      ...['GH_TOKEN', 'GITHUB_TOKEN', 'GH_CONFIG_DIR'],
      ...(source.GH_HOST?.toLowerCase() === host ? ['GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN'] : []),
    ],
    glab: [
      'GLAB_CONFIG_DIR',
      ...(ownGitlab() === host ? ['GITLAB_TOKEN', 'GITLAB_ACCESS_TOKEN', 'OAUTH_TOKEN'] : []),
    ],
  }
  const { env } = buildChildEnv({ source, allow: names[program] })
  return { ...env, ...QUIET[program], NO_COLOR: '1' }
}

const QUIET = {
  gh: { GH_PROMPT_DISABLED: '1', GH_NO_UPDATE_NOTIFIER: '1' },
  glab: { NO_PROMPT: '1', GLAB_CHECK_UPDATE: 'false', GLAB_SEND_TELEMETRY: '0' },
}

/** The host that the user's glab variables belong to. */
function ownGitlab(): string {
  const { GITLAB_HOST, GITLAB_URI, GL_HOST } = processEnv()
  const given = GITLAB_HOST || GITLAB_URI || GL_HOST || 'gitlab.com'
  return given
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/[/:].*$/, '')
}

const TIMEOUT_MS = 2 * 60_000
const MAX_WORDS = 500

async function isInstalled(program: string): Promise<boolean> {
  const folders = (processEnv().PATH ?? '').split(path.delimiter).filter(folder => path.isAbsolute(folder))
  const found = folders.map(folder => access(path.join(folder, program), constants.X_OK))
  return (await Promise.allSettled(found)).some(({ status }) => status === 'fulfilled')
}
