import { existsSync } from 'node:fs'
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  CageError,
  type CageMount,
  type CageNeeds,
  type CagePlan,
  keeperCommand,
  placeholderKey,
  planCage,
} from '@chirality/cage'
import type { CageLevel, McpServerConfig } from '@chirality/core'
import { readTextCarefully } from '@chirality/disk'
import { asObject } from '../common/json.ts'
import { realPathOf } from '../native-sessions/listing.ts'
import { makeTempFolder } from '../process/spool/temp-folder.ts'
import { MARKER_VARIABLE } from '../process/system/leftovers.ts'
import { type ClaudeContext, type Launch, PLAIN_VARIANT } from './config.ts'
import { projectFolderName, projectsFolder } from './native-sessions/files.ts'

export interface CagedLaunch {
  /** The keeper: a launch that lost its plan on the way cannot start the agent without the cage. */
  command: string
  args: string[]
  env: Record<string, string>
  cage: CagePlan
  remove(): Promise<void>
}

/** Puts a launch of Claude Code into a cage. Rejects with a CageError if that is not possible. */
export async function cageClaude({
  launch,
  context,
  level,
}: {
  launch: Launch
  context: ClaudeContext
  level: Exclude<CageLevel, 'off'>
}): Promise<CagedLaunch> {
  const { env, cwd, query, files } = launch
  const { agent } = context.variant ?? PLAIN_VARIANT
  const folder = await makeTempFolder(context.environment, agent.harnessId)
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const command = await realpath(launch.command)
    const cage = await planCage({
      command,
      args: launch.args,
      env,
      environment: context.environment,
      cwd,
      projectRoot: query.projectRoot ?? cwd,
      extraFolders: query.additionalDirectories ?? [],
      folder,
      dataFolder: context.config.dataFolder,
      readFiles: Object.values(files).filter(file => file !== undefined),
      ports: loopbackPorts(query.mcpServers),
      needs: await needsOf({ command, env, cwd, folder, level }),
    })
    return { ...keeperCommand(folder), env: keeperEnv(env), cage, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** No key: the environment of a process can be read by others of the same user. */
function keeperEnv(env: Record<string, string>): Record<string, string> {
  const names = ['PATH', 'NODE_EXTRA_CA_CERTS', MARKER_VARIABLE]
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)))
}

interface Inside {
  command: string
  env: Record<string, string>
  cwd: string
  folder: string
  level: CageLevel
}

async function needsOf(inside: Inside): Promise<CageNeeds> {
  const { command, env } = inside
  refuseOtherLogins(env)
  const config = path.dirname(projectsFolder(env))
  const login = await loginOf(inside, config)
  const telemetry = Object.keys(env).filter(name => name.startsWith('OTEL_'))
  return {
    program: [existsSync(path.join(path.dirname(command), 'package.json')) ? path.dirname(command) : command],
    own: [...(await ownFolders(inside, config)), ...login.mounts],
    server: { variable: 'ANTHROPIC_BASE_URL', vendor: 'https://api.anthropic.com' },
    keys: login.keys,
    env: {
      ...login.env,
      CLAUDE_CODE_TMPDIR: '/tmp',
      ...Object.fromEntries(telemetry.map(name => [name, ''])),
    },
  }
}

/** Logins whose secret is more than one key in one header. */
function refuseOtherLogins(env: Record<string, string>): void {
  const name = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'].find(name => env[name])
  if (name !== undefined)
    throw new CageError(
      'login-exposed',
      `${name}: a cage cannot keep the login of a cloud out of the agent's reach. ${OTHER_LOGIN}`,
    )
  if (/authorization|api-key|cookie/i.test(env.ANTHROPIC_CUSTOM_HEADERS ?? ''))
    throw new CageError(
      'login-exposed',
      `ANTHROPIC_CUSTOM_HEADERS: a cage cannot keep a credential in there out of the agent's reach. ${OTHER_LOGIN}`,
    )
}

const OTHER_LOGIN = 'Use ANTHROPIC_API_KEY or `claude auth login`, or turn the cage off.'

const KEY_VARIABLES = [
  { variable: 'ANTHROPIC_API_KEY', prefix: 'sk-ant-api03-' },
  { variable: 'ANTHROPIC_AUTH_TOKEN', prefix: '' },
  { variable: 'CLAUDE_CODE_OAUTH_TOKEN', prefix: 'sk-ant-oat01-' },
]

/** The agent's own data: its conversations of this folder, and what the user wrote for it, read-only. Nothing else of it. */
async function ownFolders({ cwd }: Inside, config: string): Promise<CageMount[]> {
  const conversations = path.join(config, 'projects', projectFolderName(await realPathOf(cwd)))
  await mkdir(conversations, { recursive: true, mode: 0o700 })
  const readable = [
    ...['settings.json', 'CLAUDE.md', 'agents', 'commands', 'skills', 'plugins', 'rules', 'output-styles'],
  ]
  return [
    { kind: 'empty', at: config },
    ...readable
      .map(name => path.join(config, name))
      .filter(file => existsSync(file))
      .map((file): CageMount => ({ kind: 'read', from: file, at: file })),
    { kind: 'write', from: conversations, at: conversations },
  ]
}

interface Login {
  keys: { placeholder: string; real: string }[]
  env: Record<string, string>
  mounts: CageMount[]
}

/** The login with placeholders, and what they stand for. */
async function loginOf({ env, folder, level }: Inside, config: string): Promise<Login> {
  await refuseReadableKeys(config, level)
  const login: Login = { keys: [], env: {}, mounts: [] }
  for (const { variable, prefix } of KEY_VARIABLES) {
    const real = env[variable]
    if (!real) continue
    const placeholder = placeholderKey(prefix)
    login.keys.push({ placeholder, real })
    login.env[variable] = placeholder
  }
  return login.keys.length > 0 ? login : fileLogin(config, folder)
}

/** The file of `claude auth login`, with placeholders for both tokens. The agent in the cage cannot renew them. */
async function fileLogin(config: string, folder: string): Promise<Login> {
  const read = await readTextCarefully({
    root: config,
    path: CREDENTIALS,
    links: 'inside',
    maxBytes: 64 * 1024,
  })
  const stored = read === undefined || 'fault' in read ? undefined : jsonOf(read.text)
  const login = asObject(stored?.claudeAiOauth)
  const real = login.accessToken
  if (typeof real !== 'string') return { keys: [], env: {}, mounts: [] }
  if (typeof login.expiresAt === 'number' && login.expiresAt < Date.now() + RENEW_MS)
    throw new CageError(
      'login-exposed',
      'The login of Claude Code has to be renewed, which it cannot do in a cage. Start `claude` once in a terminal, then send the message again.',
    )
  const placeholder = placeholderKey('sk-ant-oat01-')
  const shown = { ...login, accessToken: placeholder, refreshToken: placeholderKey('sk-ant-ort01-') }
  const from = path.join(folder, CREDENTIALS)
  await writeFile(from, JSON.stringify({ claudeAiOauth: shown }), { mode: 0o600 })
  const mounts: CageMount[] = [{ kind: 'read', from, at: path.join(config, CREDENTIALS) }]
  return { keys: [{ placeholder, real }], env: {}, mounts }
}

const CREDENTIALS = '.credentials.json'
const RENEW_MS = 5 * 60_000

/** Settings of the user can contain a key, or a command that prints one, which would take the place of the placeholder. */
async function refuseReadableKeys(config: string, level: CageLevel): Promise<void> {
  const read = await readTextCarefully({
    root: config,
    path: 'settings.json',
    links: 'inside',
    maxBytes: 1024 * 1024,
  })
  if (read === undefined) return
  const file = path.join(config, 'settings.json')
  const settings = 'fault' in read ? undefined : jsonOf(read.text)
  if (settings === undefined && level === 'required')
    throw new CageError(
      'login-exposed',
      `${file} cannot be read, so it may contain a login. Repair it, or turn the cage off.`,
    )
  const variables = Object.keys(asObject(settings?.env))
  const secret = [
    ...LOGIN_SETTINGS.filter(name => settings?.[name] !== undefined),
    ...variables.filter(name => name.startsWith('ANTHROPIC_') || name.startsWith('CLAUDE_CODE_USE_')),
    ...(level === 'required' ? variables.filter(name => SECRET_NAME.test(name)) : []),
  ][0]
  if (secret === undefined) return
  throw new CageError(
    'login-exposed',
    `${secret} in ${file}: the agent reads that file, so the cage cannot keep the login out of its reach. ${OTHER_LOGIN}`,
  )
}

const LOGIN_SETTINGS = ['apiKeyHelper', 'awsAuthRefresh', 'awsCredentialExport']
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|HEADERS/i

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Tool servers of the turn on this machine: their ports, and no others, are reached from inside. */
function loopbackPorts(servers: Record<string, McpServerConfig> = {}): number[] {
  return Object.values(servers).flatMap(server => {
    if (server.type !== 'http' || !URL.canParse(server.url)) return []
    const { hostname, port } = new URL(server.url)
    return ['127.0.0.1', 'localhost'].includes(hostname) && port !== '' ? [Number(port)] : []
  })
}
