import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { FleetService } from '@chirality/centre'
import { hasCode } from '@chirality/core'
import { buildChildEnv, hideEnvironment, processEnv, startProgram } from '@chirality/runner'
import { LINK_MINUTES, type RunningServer, startServer } from '@chirality/server'
import { ProjectLockedError, userDataFolder } from '@chirality/sessions'
import { agentEnvironment } from '../agent-environment.ts'
import type { RunningDemo } from '../demo/start-demo.ts'
import { EXIT, UsageError } from '../exit-code.ts'
import { projectFolder } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { newLink, refusalCode, serverAt } from '../running-server.ts'
import { spentElsewhere } from '../spent-elsewhere.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { linkText } from './link.ts'
import { readServeOptions, type ServeOptions } from './serve/serve-options.ts'
import { serverEnvironment, serverHarnesses } from './serve/server-harnesses.ts'
import { openTailnet, type TailnetDoor, TailscaleError, tailnetOrigin } from './serve/tailscale.ts'

/** Runs the agents of a fleet on this machine. It is a server for its own user, too, on any free port. */
export async function worker(args: string[], output: Output): Promise<number> {
  return serve(
    ['--no-open', ...(args.some(arg => /^--port(=|$)/.test(arg)) ? [] : ['--port=0']), ...args],
    output,
    {
      isWorker: true,
    },
  )
}

/** Runs the server until it is stopped. */
export async function serve(args: string[], output: Output, { isWorker = false } = {}): Promise<number> {
  hideEnvironment()
  const read = await readServeOptions(args)
  if (isWorker && read.fleet === undefined)
    throw new UsageError(
      'A worker works for a fleet: name it with --fleet URL, as `chirality fleet join` printed it.',
    )
  const origin = read.tailscale ? await tailnetOrigin().catch(explainTailscale) : undefined
  if (origin === null) return EXIT.failed
  const options = origin === undefined ? read : { ...read, publicOrigins: [origin, ...read.publicOrigins] }
  const stop = stopSignals()
  const demo = options.demo ? await (await import('../demo/start-demo.ts')).startDemo() : undefined
  const projects = demo ? [demo.projectRoot, ...options.projects] : await projectFolders(options.projects)
  const started = await start(options, projects, demo)
  if (started.kind !== 'started') {
    await demo?.close()
    return started.kind === 'running-elsewhere' ? leadTo(started.owner, options, output) : EXIT.failed
  }
  const { server } = started
  const { url, port, token } = server
  const door = origin === undefined ? undefined : await openDoor(port, origin)
  if (door === null) {
    await server.close()
    await demo?.close()
    return EXIT.failed
  }
  const link = demo ? await demoLink(server, demo) : server.link
  await output.write(
    options.json
      ? `${JSON.stringify({ url, port, token, pid: process.pid, link })}\n`
      : isWorker
        ? `This machine works for the fleet. Its own dashboard is at ${url}. Ctrl-C stops it.\n`
        : welcome([...options.publicOrigins, url], link),
  )
  const wantsBrowser = options.open && !options.json && canOpenBrowser()
  const closePage = wantsBrowser ? await openBrowser(link, userDataFolder()) : async () => {}
  let isStopping = false
  void door?.ended.then(why => {
    if (!isStopping)
      void tell(`chirality: \`tailscale serve\` ended (${why}). Only this machine reaches the server now.\n`)
  })
  await stop.first
  if (!options.json)
    await tell(options.leaveAgents ? 'Stopping. Agents work on.\n' : 'Stopping, and the agents with it.\n')
  isStopping = true
  await door?.close()
  await close(server, options, stop.second)
  await demo?.close()
  await closePage()
  return EXIT.done
}

/** Null if it failed, which was told. */
async function openDoor(port: number, origin: string): Promise<TailnetDoor | null> {
  const onLine = (line: string) => void tell(`tailscale: ${line}\n`)
  return openTailnet(port, { origin, onLine }).catch(explainTailscale)
}

async function explainTailscale(error: unknown): Promise<null> {
  if (!(error instanceof TailscaleError)) throw error
  await tell(`chirality: ${error.message}\n`)
  return null
}

/** A second signal does not wait. Agents that were to end are killed then: none may be left running. */
async function close(server: RunningServer, options: ServeOptions, second: Promise<void>): Promise<void> {
  const closed = server.close({ agents: options.leaveAgents ? 'leave' : 'stop' })
  const hurried = second.then(async () => {
    if (options.leaveAgents) return
    await server.killAgents()
    await Promise.race([closed, sleep(LAST_WORDS_MS)])
  })
  await Promise.race([closed, hurried])
}

/** Waits for the logs to be written completely. */
const LAST_WORDS_MS = 1000

type Start =
  | { kind: 'started'; server: RunningServer }
  | { kind: 'running-elsewhere'; owner: ProjectLockedError }
  | { kind: 'failed' }

/** Starts the server in this process. An error that it does not return was told. */
export async function start(options: ServeOptions, projects: string[], demo?: RunningDemo): Promise<Start> {
  const { port, host, exposed, publicOrigins } = options
  const environment = agentEnvironment(await serverEnvironment(), options.allowEnv)
  let server: RunningServer | undefined
  const fleet = options.fleet && (await fleetMember(options.fleet))
  try {
    server = await startServer({
      tryAgent: async (id, signal) =>
        (await import('./conformance.ts')).tryInstalled(id, environment, signal),
      ...(fleet === undefined ? { spentElsewhere } : { fleet }),
      ...(await serverHarnesses(entry => server?.log(entry), demo, {
        environment,
        keepMemory: options.keepMemory,
      })),
      projects,
      ...(demo
        ? { demo: { projectRoot: demo.projectRoot, prompt: demo.prompt, session: demo.session } }
        : {}),
      ...{ port, host, exposed, publicOrigins },
      dashboard: dashboardFolder(),
      version: await version(),
      onFault: error =>
        void tell(`chirality: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`),
    })
    const { host: sessions } = server
    // A fatal error is then recorded beside the agents' lines.
    process.on('uncaughtExceptionMonitor', error => sessions.logFault(error))
    return { kind: 'started', server }
  } catch (error) {
    await fleet?.close()
    if (hasCode(error, 'unsafe-binding')) throw new UsageError(error.message)
    if (error instanceof ProjectLockedError) return { kind: 'running-elsewhere', owner: error }
    if (!hasCode(error, 'cannot-listen')) throw error
    await tell(`chirality: ${error.message}\n`)
    return { kind: 'failed' }
  }
}

/** Loaded only here: nothing of a fleet is read without one. */
async function fleetMember(fleet: NonNullable<ServeOptions['fleet']>): Promise<FleetService> {
  const { FleetMember } = await import('@chirality/fleet')
  return FleetMember.open({
    ...{ home: userDataFolder(), ...fleet },
    onNews: text => void tell(`fleet: ${text}\n`),
    onFault: error => void tell(`fleet: ${error instanceof Error ? error.message : error}\n`),
  })
}

/** A server of this user already owns the project: prints a link to it, and leaves its agents running. */
async function leadTo(locked: ProjectLockedError, options: ServeOptions, output: Output): Promise<number> {
  const home = userDataFolder()
  const running = await serverAt(locked.owner.address, home)
  const made = running && (await newLink(running))
  if (running === undefined || made === undefined) {
    await tell(`chirality: ${locked.message}\n`)
    return EXIT.failed
  }
  for (const project of options.projects) {
    try {
      await running.calls.projects.register.mutate({ path: await projectFolder(project) })
    } catch (error) {
      if (!(error instanceof Error) || refusalCode(error) === undefined) throw error
      await tell(`chirality: ${error.message}\n`)
    }
  }
  const { url, token, pid } = running
  const facts = { url, port: Number(new URL(url).port), token, pid, link: made.url, running: true }
  await output.write(options.json ? `${JSON.stringify(facts)}\n` : `It runs already. ${linkText(url, made)}`)
  if (!options.open || options.json || !canOpenBrowser()) return EXIT.done
  const closePage = await openBrowser(made.url, home)
  await sleep(OPENED_MS)
  await closePage()
  return EXIT.done
}

/** How long the browser has to read the page that redirects it. */
const OPENED_MS = 10_000

/** The bundle is as deep below the manifest as this file. */
async function version(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** The named folders; otherwise the current one, unless it is the home folder. */
async function projectFolders(named: string[]): Promise<string[]> {
  if (named.length > 0) return Promise.all(named.map(folder => projectFolder(folder)))
  const here = process.cwd()
  return [homedir(), path.parse(here).root].includes(here) ? [] : [here]
}

/** A link to the session of the demo. */
async function demoLink({ host, link }: RunningServer, demo: RunningDemo): Promise<string> {
  const sessions = await host.store.list(demo.projectRoot)
  const untried = sessions.find(({ title }) => title === demo.session.title)
  const full = untried && (await host.store.resume(untried.id))
  const session = full?.turnCount === 0 ? full : await host.createSession(demo.projectRoot, demo.session)
  const url = new URL(link)
  url.pathname = `/s/${session.id}`
  return url.href
}

function welcome(addresses: string[], link: string): string {
  return `Chirality is at ${addresses.join(', ')}. This link signs one browser in, once, within ${LINK_MINUTES} minutes:\n\n  ${link}\n\n\`chirality link\` prints another. Ctrl-C stops the server.\n`
}

/** A second signal ends the process at once. */
export function stopSignals(): { first: Promise<void>; second: Promise<void> } {
  const asked: (() => void)[] = []
  const first = new Promise<void>(resolve => asked.push(resolve))
  const second = new Promise<void>(resolve => asked.push(resolve))
  for (const signal of STOP_SIGNALS) process.on(signal, () => asked.shift()?.())
  return { first, second }
}

/** Whether a person at this machine would see a browser. */
function canOpenBrowser(env: Record<string, string> = processEnv()): boolean {
  if (env.CI || process.stdout.isTTY !== true) return false
  return process.platform === 'darwin' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME)
}

/**
 * Opens a link in the user's browser. Not as an argument, because every user of the machine can read those, and the
 * link signs its holder in. A page that only the user can read redirects there. Returns the function that removes the
 * page.
 */
async function openBrowser(link: string, home: string): Promise<() => Promise<void>> {
  const folder = path.join(home, 'servers')
  const page = path.join(folder, `open-${randomBytes(6).toString('hex')}.html`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  })
  const started = await startProgram(opener(), [pathToFileURL(page).href], {
    env: { ...buildChildEnv({ source: processEnv(), allow: SCREEN }).env },
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true,
    // There may be no browser; the link is printed too.
  }).catch(() => undefined)
  started?.child.unref()
  return () => rm(page, { force: true })
}

const SCREEN = [
  ...['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_CURRENT_DESKTOP'],
  ...['XDG_SESSION_TYPE', 'DESKTOP_SESSION', 'BROWSER', 'WSL_DISTRO_NAME', 'WSL_INTEROP'],
]

function opener(): string {
  if (process.platform === 'darwin') return 'open'
  return processEnv().WSL_DISTRO_NAME ? 'wslview' : 'xdg-open'
}

/**
 * The built dashboard: of the repository, or the copy in the packed command. Undefined if it is not built. Only these
 * two are checked: an installed command is inside a user's project, which may have a `web/dist` of its own.
 */
export function dashboardFolder(from = fileURLToPath(import.meta.url)): string | undefined {
  const own = packageFolder(from, '@chirality/cli')
  if (own === undefined) return undefined
  const candidates = [path.join(own, 'dashboard')]
  const beside = path.join(own, '..', 'web')
  if (nameOf(beside) === '@chirality/web') candidates.unshift(path.join(beside, 'dist'))
  return candidates.find(folder => existsSync(path.join(folder, 'index.html')))
}

/** The package of a file, which may be a source, the bundle or one of its chunks. */
function packageFolder(file: string, name: string): string | undefined {
  const folder = path.dirname(file)
  if (folder === file) return undefined
  return nameOf(folder) === name ? folder : packageFolder(folder, name)
}

function nameOf(folder: string): string | undefined {
  try {
    return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).name
  } catch {
    return undefined
  }
}
