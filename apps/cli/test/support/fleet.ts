import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { findNatsServer } from '@chirality/fleet'
import type { RunningCommand } from './running-command.ts'
import type { World } from './world.ts'

const CACHE = path.join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  '..',
  'packages',
  'fleet',
  'node_modules',
  '.cache',
)

export interface Server {
  command: RunningCommand
  /** Signs a browser in. */
  link: string
  url: string
  token: string
}

export async function started(command: RunningCommand): Promise<Server> {
  await command.shows('\n')
  return { command, ...(JSON.parse(command.stdout.split('\n')[0] ?? '') as Omit<Server, 'command'>) }
}

export async function call<T>(
  { url, token }: Server,
  name: string,
  input?: unknown,
  method = 'GET',
): Promise<T> {
  const query =
    method === 'GET' && input !== undefined ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''
  const response = await fetch(`${url}/trpc/${name}${query}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify(input) } : {}),
  })
  const { result, error } = (await response.json()) as {
    result?: { data: T }
    error?: { message: string; data: { reason: string } }
  }
  if (error !== undefined) throw new Error(`${error.data.reason}: ${error.message}`)
  return result?.data as T
}

export const change = <T>(server: Server, name: string, input: unknown) =>
  call<T>(server, name, input, 'POST')

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

export async function natsServer(): Promise<string> {
  return (await findNatsServer({ home: CACHE, fetch: true })).path
}

export const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
    cwd: folder,
    encoding: 'utf8',
  })

/** Makes the project of a world a repository, and clones of it for other machines. */
export function cloneProject(
  { project, home }: World,
  { ignored = ['.env'], clones = ['project'] }: { ignored?: string[]; clones?: string[] } = {},
): string[] {
  git(project, 'init', '-q', '-b', 'main')
  writeFileSync(path.join(project, '.gitignore'), `.chirality\n${ignored.join('\n')}\n`)
  git(project, 'add', '.')
  git(project, 'commit', '-qm', 'first')
  return clones.map(name => {
    const clone = path.join(home, 'clones', name)
    git(home, 'clone', '-q', project, clone)
    return clone
  })
}

export interface Machine extends Server {
  home: string
  /** For commands on this machine. */
  options: { env: Record<string, string> }
}

/** What differs from the world that a machine is in. */
export interface Own {
  env?: Record<string, string>
  /** Its list of agents that speak the Agent Client Protocol. */
  agents?: object[]
}

function dataFolder(world: World, name: string, { agents }: Own): string {
  const home = path.join(world.home, `${name}-home`)
  mkdirSync(home)
  if (agents !== undefined) writeFileSync(path.join(home, 'agents.json'), JSON.stringify({ agents }))
  return home
}

/** A hub with its broker. */
export async function startHub(
  world: World,
  projects: string[],
  own: Own = {},
): Promise<Machine & { fleetUrl: string }> {
  const home = dataFolder(world, 'hub', own)
  const options = { env: { CHIRALITY_HOME: home, CHIRALITY_NATS_BIN: await natsServer(), ...own.env } }
  const init = ['fleet', 'init', '--name', 'hub', '--port', String(await freePort()), '--json']
  const { stdout } = await world.start(init, options).result()
  const { url: fleetUrl } = JSON.parse(stdout) as { url: string }
  const serve = ['serve', '--json', '--port', '0', '--no-open', '--fleet', fleetUrl]
  const command = world.start([...serve, ...projects.flatMap(project => ['--project', project])], options)
  return { ...(await started(command)), home, options, fleetUrl }
}

/** A machine that joined the fleet of a hub, once the hub sees it. */
export async function startWorker(
  world: World,
  hub: Machine & { fleetUrl: string },
  { name, projects, labels = [], ...own }: { name: string; projects: string[]; labels?: string[] } & Own,
): Promise<Machine & { start: () => RunningCommand }> {
  const home = dataFolder(world, name, own)
  const options = { env: { CHIRALITY_HOME: home, ...own.env } }
  const { stdout } = await world.start(['fleet', 'invite', '--json'], hub.options).result()
  const { code } = JSON.parse(stdout) as { code: string }
  const joined = await world.start(['fleet', 'join', code, '--name', name], options).result()
  if (joined.code !== 0) throw new Error(`${name} did not join: ${joined.stderr}`)
  const work = ['worker', '--json', '--fleet', hub.fleetUrl, ...labels.flatMap(label => ['--label', label])]
  const start = () => world.start([...work, ...projects.flatMap(project => ['--project', project])], options)
  const server = await started(start())
  for (let isSeen = false; !isSeen; ) {
    const machines = await call<{ machine: string; state: string; agents: unknown[] }[]>(
      hub,
      'fleet.machines',
    )
    isSeen = machines.some(one => one.machine === name && one.state === 'here' && one.agents.length > 0)
    if (!isSeen) await new Promise(resolve => setTimeout(resolve, 100))
  }
  return { ...server, home, options, start }
}
