import { processEnv } from '@chirality/runner'
import { type GitRepository, type GitSetting, git, gitEnvironment, outputText } from '../git/git.ts'
import { type ProgramEnd, runProgram } from '../git/run-program.ts'
import { workspaceError } from '../workspace-error.ts'
import { hooksAmong, hooksFolder, resolve, reviewRefused } from './commit.ts'

/** Effect of a push according to the remote's current state. */
export interface PushPlan {
  /** All remotes of the repository, and the one to push to. */
  remotes: string[]
  remote: string
  /** Address of the remote, without a password. */
  url: string
  branch: string
  /** Newest commit of the branch, named in the command. */
  commit: string
  /** `new` means that the remote lacks the branch. */
  kind: 'new' | 'forward' | 'up-to-date'
  /** Newest first, at most 100. */
  commits: { commit: string; subject: string }[]
  total: number
  /** Hooks of the repository that a push runs if they are allowed. */
  hooks: string[]
  command: string[]
}

export interface PushRequest {
  branch: string
  /** Default: the branch's own remote, `origin`, or the only one. */
  remote?: string | undefined
  hooks?: boolean | undefined
  /** Marks the programs that the push starts. */
  marker?: string | undefined
}

export interface Pushed {
  remote: string
  branch: string
  commit: string
  kind: PushPlan['kind']
  /** Further output of the remote, such as the address for a pull request. */
  said: string
}

/** Asks the remote about the effect of a push. Sends nothing. */
export async function planPush(repository: GitRepository, request: PushRequest): Promise<PushPlan> {
  const target = await targetOf(repository, request)
  const { remotes, remote, url, branch, commit } = target
  const { kind } = await push(repository, target, { ...request, isDry: true })
  const range = ['rev-list', commit, '--not', `--remotes=${globSafe(remote)}`]
  const total = kind === 'up-to-date' ? 0 : Number(outputText(await git(repository, [...range, '--count'])))
  const listed =
    total === 0
      ? ''
      : outputText(
          await git(repository, ['log', '-100', '--format=%H %s', commit, '--not', ...range.slice(3)]),
        )
  const commits = listed.split('\n').flatMap(line => {
    const [, id, subject = ''] = /^([0-9a-f]+) ?(.*)$/.exec(line) ?? []
    return id === undefined ? [] : [{ commit: id, subject }]
  })
  return {
    remotes,
    remote,
    url: withoutPassword(url),
    branch,
    commit,
    kind,
    commits,
    total,
    hooks: await hooksAmong(repository, ['pre-push']),
    command: ['git', ...pushArgs(target, request)],
  }
}

/**
 * Pushes exactly `commit`, as planned, and never forces. Refused if the branch moved, the remote's address differs from
 * `url`, or the remote has commits that the branch lacks.
 */
export async function pushBranch(
  repository: GitRepository,
  { commit, url, ...request }: PushRequest & { commit: string; url: string },
): Promise<Pushed> {
  const target = await targetOf(repository, request)
  if (withoutPassword(target.url) !== url)
    throw reviewRefused('The address of the remote changed. Look at it again. Nothing was pushed.')
  if (target.commit !== commit)
    throw reviewRefused(
      `${target.branch} has other commits now than were shown. Look at it again. Nothing was pushed.`,
    )
  const { kind, said } = await push(repository, target, { ...request, isDry: false })
  // The push itself succeeded even if this fails.
  await setUpstream(repository, target).catch(() => {})
  return { remote: target.remote, branch: target.branch, commit, kind, said }
}

/**
 * Sets the upstream here, because `git push --set-upstream` needs the name of a branch, which may have moved by then.
 */
async function setUpstream(repository: GitRepository, { branch, remote }: Target): Promise<void> {
  await git(repository, ['config', `branch.${branch}.remote`, remote])
  await git(repository, ['config', `branch.${branch}.merge`, `refs/heads/${branch}`])
}

/** The remote that a push would go to. Refused in the same cases as the push. */
export async function remoteOf(repository: GitRepository, request: PushRequest): Promise<string> {
  return (await targetOf(repository, request)).remote
}

/** True if the remote confirmed that it has the commit: only then git moves the remote-tracking branch. */
export async function isKnownPushed(
  repository: GitRepository,
  { remote, branch, commit }: { remote: string; branch: string; commit: string },
): Promise<boolean> {
  return (await resolve(repository, `refs/remotes/${remote}/${branch}`)) === commit
}

/** Fetch address of a remote, without a password. Undefined if there is no such remote. */
export async function urlOf(repository: GitRepository, remote: string): Promise<string | undefined> {
  const found = outputText(
    await git(repository, ['remote', 'get-url', '--', remote], { okCodes: [0, 2, 128] }),
  )
  return found === '' ? undefined : withoutPassword(found)
}

export async function remotesOf(repository: GitRepository): Promise<string[]> {
  return outputText(await git(repository, ['remote']))
    .split('\n')
    .filter(Boolean)
}

interface Target {
  remotes: string[]
  remote: string
  url: string
  branch: string
  commit: string
  /** Connection settings of the user's own config, such as sign-in. */
  connection: GitSetting[]
}

async function targetOf(repository: GitRepository, { branch, remote: named }: PushRequest): Promise<Target> {
  const commit = await resolve(repository, `refs/heads/${branch}`)
  if (commit === undefined) throw reviewRefused(`The branch ${branch} has no commit. Nothing was pushed.`)
  const remotes = await remotesOf(repository)
  if (remotes.length === 0)
    throw reviewRefused('The repository has no remote to push to. Add one: git remote add origin ADDRESS')
  const settings = await settingsOf(repository)
  const own = settings.find(({ name }) => name === `branch.${branch}.remote`)?.value ?? ''
  const usual = [own, 'origin'].find(name => remotes.includes(name))
  const remote = named ?? usual ?? (remotes.length === 1 ? remotes[0] : undefined)
  if (remote === undefined || !remotes.includes(remote)) {
    const list = remotes.join(', ')
    throw reviewRefused(
      remote === undefined
        ? `There are several remotes. Choose one: ${list}`
        : `There is no remote ${remote}. There are: ${list}`,
    )
  }
  requireOwnConnection(settings, remote)
  const [url = '', ...more] = outputText(
    await git(repository, ['remote', 'get-url', '--push', '--all', remote]),
  ).split('\n')
  if (more.length > 0) throw reviewRefused(`${remote} has several addresses to push to. Push with git.`)
  requireKnownKind(url)
  return { remotes, remote, url, branch, commit, connection: connectionOf(settings) }
}

interface Setting {
  scope: string
  name: string
  value: string
}

async function settingsOf(repository: GitRepository): Promise<Setting[]> {
  const listed = await git(repository, ['config', '--list', '--show-scope', '-z'])
  const words = listed.toString('utf8').split('\0')
  return words.flatMap((scope, at) => {
    if (at % 2 === 1 || words[at + 1] === undefined) return []
    const [, name = '', value = ''] = /^([^\n]*)\n?(.*)$/s.exec(words[at + 1] ?? '') ?? []
    return [{ scope, name, value }]
  })
}

/**
 * Refuses connection settings of the repository. Its config may come from a stranger, and must neither choose a program
 * nor a receiver of the user's password. The address itself may come from it, because it is shown before anything is
 * sent.
 */
function requireOwnConnection(settings: readonly Setting[], remote: string): void {
  const ofRemote = ['vcs', 'proxy', 'proxyauthmethod', 'mirror', 'receivepack'].map(
    key => `remote.${remote}.${key}`,
  )
  const foreign = settings
    .filter(({ scope }) => scope === 'local' || scope === 'worktree')
    .filter(({ name }) => CONNECTION.some(known => known.test(name)) || ofRemote.includes(name))
    .map(({ name }) => name)
  if (foreign.length === 0) return
  const names = [...new Set(foreign)].join(', ')
  throw reviewRefused(
    `The config of this repository sets how to connect (${names}), and only your own config may: move it there with git config --global, or push with git. Nothing was pushed.`,
  )
}

const CONNECTION = [
  /^http\./,
  /^url\..*\.(insteadof|pushinsteadof)$/s,
  /^credential\.(.*\.)?helper$/s,
  /^core\.(sshcommand|askpass|gitproxy)$/,
  /^ssh\./,
]

function connectionOf(settings: readonly Setting[]): GitSetting[] {
  const own = settings.filter(({ scope }) => scope === 'system' || scope === 'global')
  const ssh = own.findLast(({ name }) => name === 'core.sshcommand')?.value
  return [
    ['core.sshCommand', processEnv().GIT_SSH_COMMAND ?? ssh ?? 'ssh'],
    // An empty value clears all previous helpers, including those of the repository.
    ['credential.helper', ''],
    ...own.flatMap(({ name, value }): GitSetting[] =>
      /^credential\..*helper$/s.test(name) ? [[name, value]] : [],
    ),
    ['push.pushOption', ''],
    ['push.negotiate', 'false'],
  ]
}

function requireKnownKind(url: string): void {
  const kind = /^([a-z][a-z0-9+.-]*):(?:\/\/|:)/i.exec(url)?.[1]?.toLowerCase()
  if (url === '' || url.startsWith('-') || (kind !== undefined && !KINDS.includes(kind)))
    throw reviewRefused(
      `Chirality does not push to ${withoutPassword(url)}: only https, http, ssh and folders. Nothing was pushed.`,
    )
}

const KINDS = ['https', 'http', 'ssh', 'file']

function pushArgs({ remote, url, branch, commit }: Target, { hooks = false }: PushRequest): string[] {
  const isFolder = url.startsWith('file://') || !(url.includes('://') || /^[^/]*:/.test(url))
  return [
    ...['push', '--porcelain', '--no-follow-tags', '--no-signed', '--recurse-submodules=no'],
    ...(isFolder && !hooks ? [`--receive-pack=${QUIET_RECEIVE}`] : []),
    ...['--', remote, `${commit}:refs/heads/${branch}`],
  ]
}

/** A repository in a folder would run its hooks and configured commands on this machine. */
const QUIET_RECEIVE = [
  'git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c core.fsmonitor=false',
  '-c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack',
].join(' ')

async function push(
  repository: GitRepository,
  target: Target,
  { isDry, ...request }: PushRequest & { isDry: boolean },
): Promise<{ kind: PushPlan['kind']; said: string }> {
  const [name = '', ...args] = pushArgs(target, request)
  const settings = [...target.connection]
  if (request.hooks && !isDry) settings.push(['core.hooksPath', await hooksFolder(repository)])
  const own = { ...repository, overrides: [...repository.overrides, ...settings] }
  const end = await runProgram('git', ['--no-pager', name, ...(isDry ? ['--dry-run'] : []), ...args], {
    cwd: repository.top,
    // No terminal: a program that asks for a password would wait for ever.
    env: {
      ...(await gitEnvironment(own)),
      GIT_ALLOW_PROTOCOL: KINDS.join(':'),
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
    },
    timeoutMs: isDry ? DRY_TIMEOUT_MS : TIMEOUT_MS,
    marker: request.marker,
  })
  return { kind: kindOf(end, target, isDry), said: remoteSaid(end.stderr) }
}

const DRY_TIMEOUT_MS = 60_000
const TIMEOUT_MS = 10 * 60_000

function kindOf(end: ProgramEnd, { remote, branch }: Target, isDry: boolean): PushPlan['kind'] {
  const line = end.stdout.split('\n').find(one => one.includes(`:refs/heads/${branch}\t`)) ?? ''
  const flag = line[0]
  if (end.code === 0 && flag === '*') return 'new'
  if (end.code === 0 && flag === ' ') return 'forward'
  if (end.code === 0 && flag === '=') return 'up-to-date'
  if (flag === '!' && /non-fast-forward|fetch first|stale info/.test(line))
    throw reviewRefused(
      `${remote} has commits on ${branch} that are not here. Fetch and merge them with git, then push. Nothing was pushed.`,
    )
  const why = flag === '!' ? (/\((.*)\)$/.exec(line)?.[1] ?? 'rejected') : lastWords(end)
  // The connection may have failed after the remote received everything.
  const isKnown = isDry || flag === '!'
  const came = isKnown ? 'Nothing was pushed.' : 'The push may have succeeded: look at the remote.'
  throw workspaceError(
    'review-refused',
    `git push: ${why}. Chirality asks for no password: your ssh agent or the credential helper of your own git config must know it. ${came}`,
  )
}

function lastWords({ code, stderr }: ProgramEnd): string {
  if (code === null) return 'the remote did not answer in time'
  const lines = stderr
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)
  const fatal = lines.find(line => /^(fatal|error):/.test(line)) ?? lines[0] ?? 'failed'
  return withoutPassword(fatal.replace(/^(fatal|error): /, ''))
    .slice(0, 300)
    .replace(/\.$/, '')
}

function remoteSaid(stderr: string): string {
  const lines = stderr.split('\n').flatMap(line => /^remote: ?(.*?)\s*$/.exec(line)?.[1] ?? [])
  return lines.join('\n').trim().slice(0, MAX_SAID)
}

const MAX_SAID = 2000

function withoutPassword(words: string): string {
  return words.replace(/(\w:\/\/)[^/@\s]*@/g, '$1')
}

/** Escapes a name for use in a pattern of refs. */
function globSafe(name: string): string {
  return `${name.replace(/[*?[\\]/g, '\\$&')}/*`
}
