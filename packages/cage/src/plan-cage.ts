import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readlink, realpath, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { isProtectedName } from '@chirality/core'
import { readTextCarefully } from '@chirality/disk'
import { CageError } from './cage-error.ts'
import type { CageGateway, CageMount, CagePlan } from './cage-plan.ts'
import { findCagePrograms } from './cage-programs.ts'
import { entriesOf, gitMounts } from './git-mounts.ts'

export interface CageRequest {
  command: string
  args: string[]
  env: Record<string, string>
  /** Where the programs of the cage are looked for. */
  environment: Readonly<Record<string, string>>
  cwd: string
  /** The project, whose `.chirality` folder has the logs of every session. */
  projectRoot: string
  /** Further folders that the agent works in. */
  extraFolders?: readonly string[]
  /** A new, empty folder of ours, owner-only. The keeper removes it. */
  folder: string
  /** Chirality's data folder of the user. */
  dataFolder?: string | undefined
  /** Files that the command names. */
  readFiles?: readonly string[]
  /** Ports of the host's loopback that the agent may reach: tool servers of the turn. */
  ports?: readonly number[]
  needs: CageNeeds
}

/** The needs of one agent, as its harness describes them. */
export interface CageNeeds {
  /** Its program and what that loads, read-only. */
  program: readonly string[]
  /** In its home: the mounts of its own data, in order. */
  own: readonly CageMount[]
  /** The variable with the address of the vendor's server, and that server. */
  server: { variable: string; vendor: string }
  /** The login: real values, by the placeholder that the agent gets. */
  keys: readonly { placeholder: string; real: string }[]
  /** Over the environment: placeholders, temporary folders. */
  env: Record<string, string>
}

/**
 * Decides what a cage has. Rejects with a CageError if the cage could not hold: a program is missing, or the work folder
 * is one that contains what has to be hidden.
 */
export async function planCage(request: CageRequest): Promise<CagePlan> {
  const { command, args, env, needs, folder, ports = [], readFiles = [] } = request
  const { bwrap, socat } = await findCagePrograms(request.environment)
  if (PROXIES.some(name => request.environment[name]))
    throw new CageError(
      'system-unsupported',
      'This machine reaches the network through a proxy (HTTPS_PROXY), which the cage cannot use yet, so the agent was not started. Turn the cage off, or unset the proxy.',
    )
  const home = await realpath(env.HOME || homedir())
  const cwd = await realpath(request.cwd)
  const folders = [cwd, ...(await Promise.all((request.extraFolders ?? []).map(extra => realpath(extra))))]
  const dataFolder = request.dataFolder === undefined ? undefined : await real(request.dataFolder)
  const hidden = [home, folder, ...(dataFolder ? [dataFolder] : [])]
  for (const work of folders) refuseUnsuitable(work, hidden)
  await Promise.all(['sockets', 'tmp'].map(name => mkdir(path.join(folder, name), { mode: 0o700 })))
  const gateway: CageGateway = {
    port: GATEWAY_PORT,
    upstream: env[needs.server.variable] || needs.server.vendor,
    keys: [...needs.keys],
  }
  const mounts: CageMount[] = [
    ...(await systemMounts()),
    { kind: 'write', from: path.join(folder, 'tmp'), at: '/tmp' },
    { kind: 'empty', at: home },
    ...(await toolchains(home)),
    ...(await gitIdentity(home, folder)),
    ...[path.dirname(bwrap), path.dirname(socat), ...needs.program, process.execPath].flatMap(given),
    ...needs.own,
    ...(await Promise.all(folders.map(work => workMounts(work, hidden)))).flat(),
    ...(await logsOf(request.projectRoot, folders)),
    ...readFiles.map((file): CageMount => ({ kind: 'read', from: file, at: file })),
  ]
  return {
    folder,
    bwrap,
    socat,
    mounts,
    command,
    args,
    env: {
      ...env,
      TMPDIR: '/tmp',
      ...needs.env,
      [needs.server.variable]: `http://127.0.0.1:${GATEWAY_PORT}`,
    },
    cwd,
    gateways: [gateway],
    ports: [...new Set(ports)],
    probe: { home, dataFolder: dataFolder ?? folder, tokenFiles: await tokenFiles(dataFolder) },
  }
}

const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'HTTP_PROXY', 'http_proxy']
const GATEWAY_PORT = 3129

/** A credential for the inside of a cage. Random, so that it is found wherever it turns up. */
export function placeholderKey(prefix: string): string {
  return `${prefix}caged-${randomBytes(16).toString('hex')}`
}

async function real(folder: string): Promise<string | undefined> {
  return realpath(folder).catch(() => undefined)
}

/** An agent that works in a folder above the home folder would have all of it. */
function refuseUnsuitable(work: string, hidden: string[]): void {
  const why = whyUnsuitable(work, hidden)
  if (why === undefined) return
  throw new CageError(
    'folder-unsuitable',
    `${work} ${why}, so the agent was not started there. Work in a folder of the project, or turn the cage off.`,
  )
}

function whyUnsuitable(folder: string, hidden: string[]): string | undefined {
  const inside = hidden.find(each => each === folder || each.startsWith(folder === '/' ? '/' : `${folder}/`))
  if (inside !== undefined) return `contains ${inside}, which the cage hides`
  const isShared = [...SYSTEM, '/etc', '/proc', '/sys', '/dev', '/run', '/tmp', '/var', '/dev/shm'].includes(
    folder,
  )
  return isShared ? 'belongs to the system' : undefined
}

const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix',
  '/gnu',
  '/snap',
]

/** Programs and libraries, and the settings of the system without its secrets. No socket of a service is in there. */
async function systemMounts(): Promise<CageMount[]> {
  const folders = await Promise.all(SYSTEM.map(systemFolder))
  const secrets = await Promise.all(ETC_SECRETS.map(hide))
  return [
    ...folders.flat(),
    { kind: 'read', from: '/etc', at: '/etc' },
    ...secrets.flat(),
    { kind: 'empty', at: '/proc' },
    ...PROC_SETTINGS.flatMap(given),
    ...(await Promise.all(PROC_SECRETS.map(hide))).flat(),
    { kind: 'empty', at: '/dev' },
    { kind: 'empty', at: '/run' },
    { kind: 'empty', at: '/var/tmp' },
  ]
}

async function systemFolder(at: string): Promise<CageMount[]> {
  const to = await readlink(at).catch(() => undefined)
  if (to !== undefined) return [{ kind: 'link', to, at }]
  return existsSync(at) ? [{ kind: 'read', from: at, at }] : []
}

/** Written by root they change the whole machine, also from a namespace: the kernel asks for the user only. */
const PROC_SETTINGS = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr'].map(
  name => `/proc/${name}`,
)
const PROC_SECRETS = ['kcore', 'keys', 'latency_stats', 'timer_list', 'sched_debug'].map(
  name => `/proc/${name}`,
)

/** Readable by the user who runs Chirality, if that is root. */
const ETC_SECRETS = [
  ...[
    'shadow',
    'shadow-',
    'gshadow',
    'gshadow-',
    'sudoers',
    'sudoers.d',
    'ssh',
    'ssl/private',
    'krb5.keytab',
  ],
  ...['NetworkManager', 'wireguard', 'openvpn', 'docker', 'kubernetes', 'rancher', 'letsencrypt'],
].map(name => `/etc/${name}`)

async function hide(at: string): Promise<CageMount[]> {
  const info = await stat(at).catch(() => undefined)
  if (info === undefined) return []
  return info.isDirectory() ? [{ kind: 'empty', at }] : [{ kind: 'read', from: '/dev/null', at }]
}

/** Compilers and runtimes that are installed in the home folder. None of these folders has a credential. */
async function toolchains(home: string): Promise<CageMount[]> {
  const names = [
    ...[
      '.nvm/versions',
      '.volta/bin',
      '.volta/tools',
      '.fnm',
      '.asdf',
      '.pyenv',
      '.rbenv',
      '.sdkman/candidates',
    ],
    ...[
      '.rustup/toolchains',
      '.cargo/bin',
      '.bun/bin',
      '.deno/bin',
      'go/bin',
      '.local/bin',
      '.local/share/mise',
    ],
    ...['.local/share/pnpm', '.local/share/uv'],
  ]
  return names.map(name => path.join(home, name)).flatMap(given)
}

function given(file: string): CageMount[] {
  return existsSync(file) ? [{ kind: 'read', from: file, at: file }] : []
}

/** The name and the address of the user for commits: of git's settings nothing else, because they name credentials. */
async function gitIdentity(home: string, folder: string): Promise<CageMount[]> {
  const lines: string[] = []
  for (const file of ['.gitconfig', '.config/git/config']) {
    const read = await readTextCarefully({ root: home, path: file, links: 'inside', maxBytes: 256 * 1024 })
    if (read === undefined || 'fault' in read) continue
    const section = /^\[user\]\s*$([^[]*)/im.exec(read.text)?.[1] ?? ''
    lines.push(...section.split('\n').filter(line => /^\s*(name|email)\s*=/i.test(line)))
  }
  if (lines.length === 0) return []
  const from = path.join(folder, 'gitconfig')
  await writeFile(from, ['[user]', ...lines, ''].join('\n'), { mode: 0o600 })
  return [{ kind: 'read', from, at: path.join(home, '.gitconfig') }]
}

/** The folder is writable, but not what is run or believed by others later: `isProtectedPath` knows the names. */
async function workMounts(folder: string, hidden: string[]): Promise<CageMount[]> {
  const git = await gitMounts(folder, top => whyUnsuitable(top, hidden) !== undefined)
  const around = git.filter(({ kind, at }) => kind === 'read' && folder.startsWith(`${at}/`))
  return [
    ...around,
    { kind: 'write', from: folder, at: folder },
    ...git.filter(mount => !around.includes(mount)),
    ...(await protectedFiles(folder, DEPTH, { left: MAX_FOLDERS })),
  ]
}

async function protectedFiles(folder: string, depth: number, budget: { left: number }): Promise<CageMount[]> {
  budget.left -= 1
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const mounts: CageMount[] = []
  for (const entry of entries) {
    const at = path.join(folder, entry.name)
    if (UNSEEN.has(entry.name)) continue
    if (isProtectedName(entry.name) && (entry.isDirectory() || entry.isFile()))
      mounts.push({ kind: 'read', from: at, at })
    else if (entry.isDirectory() && depth > 1 && budget.left > 0)
      mounts.push(...(await protectedFiles(at, depth - 1, budget)))
  }
  return mounts
}

/** `.git` has mounts of its own, `.chirality` is hidden. */
const UNSEEN = new Set(['.git', '.chirality', 'node_modules'])
const DEPTH = 3
const MAX_FOLDERS = 500

/** The raw logs and the state of every session of the project are hidden, but not a work folder below them. */
async function logsOf(projectRoot: string, folders: string[]): Promise<CageMount[]> {
  const roots = new Set([await realpath(projectRoot), ...folders])
  return [...roots].flatMap(root => {
    const at = path.join(root, '.chirality')
    const isVisible = folders.some(folder => at.startsWith(`${folder}/`)) && existsSync(at)
    const isAbove = folders.some(folder => folder.startsWith(`${at}/`))
    return isVisible && !isAbove ? [{ kind: 'empty' as const, at }] : []
  })
}

/** The files with the tokens of running servers, which the probe tries to read. */
async function tokenFiles(dataFolder: string | undefined): Promise<string[]> {
  if (dataFolder === undefined) return []
  const folder = path.join(dataFolder, 'servers')
  return (await entriesOf(folder)).slice(0, 3).map(name => path.join(folder, name))
}
