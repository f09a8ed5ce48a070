import type { Socket } from 'node:net'
import type { SessionHarness } from '@chirality/core'
import { PersonaManager } from '@chirality/personas'
import { type HarnessRegistry, OwnAgents, type RunnerLogEntry } from '@chirality/runner'
import {
  type FindElsewhere,
  requireRest,
  SessionHost,
  StorageError,
  settlePushes,
  sweepTemporaries,
  userDataFolder,
} from '@chirality/sessions'
import { endPrograms } from '@chirality/workspaces'
import { SignedInBrowsers } from './browsers/signed-in-browsers.ts'
import { HttpError } from './errors/call-error.ts'
import { toHttpError } from './errors/to-call-error.ts'
import { awayTurns, type FleetLocal, type FleetService } from './fleet/fleet-service.ts'
import { answerWith } from './fleet/forward.ts'
import { budgetKey, repositoryKey } from './fleet/repository-key.ts'
import { clientAddress } from './guard/facts.ts'
import { Keys } from './guard/keys.ts'
import type { Place } from './guard/places.ts'
import { checkBinding, type Exposed, isLoopback, proxiesOf } from './http/check-binding.ts'
import { openDoors } from './http/doors.ts'
import { createHttpServer, type TlsFiles } from './http/http-server.ts'
import { OpenSockets } from './http/open-sockets.ts'
import type { Route } from './http/routes.ts'
import { SendPace, type SendPaceOptions } from './http/send-pace.ts'
import { StaticFiles } from './http/static-files.ts'
import { ServerLoops } from './loops/server-loops.ts'
import { ServerSchedules } from './loops/server-schedules.ts'
import { Programs } from './mcp/programs.ts'
import { ProjectRegistry } from './projects/project-registry.ts'
import { PushService } from './push/push-service.ts'
import { toldByWork } from './push/told-by-work.ts'
import { apiRoutes } from './rest/api-routes.ts'
import { type SocketLimits, SocketServer } from './socket/socket-server.ts'
import { serveTrpc } from './socket/trpc-socket.ts'
import { AgentTrials, type TryAgent } from './system/agent-trials.ts'
import { KeptNumbers } from './system/kept-numbers.ts'
import { removeServerFile, writeServerFile } from './system/server-file.ts'
import { killAgents } from './system/session-processes.ts'
import { StoppedTurns } from './system/stopped-turns.ts'
import type { AppServices, Demo } from './trpc/context.ts'
import { RawLogKeeper } from './trpc/data-router.ts'
import { DiscardedSessions, RemovedSessions } from './trpc/discarded-sessions.ts'
import { deleteForGood, liveSession, requireKept } from './trpc/live-session.ts'
import { appRouter } from './trpc/router.ts'
import { createCallerFactory } from './trpc/trpc.ts'

export interface ServerOptions {
  /** The available agents. `log` of the running server is for their `onLog`. */
  harnesses: HarnessRegistry<SessionHarness>
  /** The agents that the user added. Default: those of the data folder, with harnesses as they come. */
  agents?: OwnAgents
  /** Folders that the user names at the start of the server: they are registered and opened. */
  projects?: string[]
  /** Default 127.0.0.1. Any address beyond loopback needs `exposed`. */
  host?: string
  /** The first port to try; 0 takes any. Default 4096. */
  port?: number
  exposed?: Exposed
  /** Other origins of the server, such as `https://agents.example`. */
  publicOrigins?: string[]
  /** The folder of the built dashboard. */
  dashboard?: string
  /** The user's data folder. */
  home?: string
  version?: string
  /** The demo project, and the first message to its agent. */
  demo?: Demo
  /** How long an agent's request waits for a person. Null, the default: no limit. */
  decisionTimeoutMs?: number | null
  limits?: Partial<SocketLimits>
  pace?: SendPaceOptions
  /** The other machines. Closed with the server. */
  fleet?: FleetService
  /** Without `fleet`, on a machine that is in one: what is known of the other machines' spending on a project. */
  spentElsewhere?: FindElsewhere
  /** Tries an agent in scripted conversations. Default: no agent can be tried. */
  tryAgent?: TryAgent
  /** Only for tests: push services on this machine. */
  allowLocalPush?: boolean
  /** Called with internal errors. They are also written to harness.log of every open project. */
  onFault?: (error: unknown) => void
}

export interface RunningServer {
  /** The address for this machine: `http://127.0.0.1:4096`. */
  readonly url: string
  /** Of `url`: the one that it listens at, also where 0 was asked for. */
  readonly port: number
  /** For `Authorization: Bearer`. */
  readonly token: string
  /** Opens the dashboard and signs a browser in, once, within `LINK_MINUTES`. */
  readonly link: string
  readonly host: SessionHost
  /** Its routes, beside the files of the dashboard. */
  readonly routes: readonly Omit<Route, 'handle'>[]
  /** For `onLog` of the harnesses. */
  log(entry: RunnerLogEntry): void
  /** Refuses new calls, then ends the agents or leaves them running. */
  close(options?: { agents?: 'stop' | 'leave' }): Promise<void>
  /** Kills the agents at once, for a caller that does not wait for `close`. */
  killAgents(): Promise<void>
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host: address = '127.0.0.1', home = userDataFolder(), version = '0.0.0' } = options
  checkBinding(options)
  sweepTemporaries(home)
  const keys = new Keys()
  const browsers = new SignedInBrowsers(home, keys)
  const routes: Route[] = []
  let place = NOWHERE
  let log: Pick<SessionHost, 'logFault'> | undefined
  const onFault = (error: unknown) => {
    log?.logFault(error)
    options.onFault?.(error)
  }
  const connections = new OpenSockets()
  const sockets = new SocketServer({
    ...{ keys, place: () => place, path: '/trpc', limits: options.limits },
    onTrusted: stream => connections.trust(stream as Socket),
    onSocket: accepted => serveTrpc(accepted, { router: appRouter, services, pace: options.pace, onFault }),
  })
  const files = new StaticFiles(options.dashboard)
  const create = (tls?: TlsFiles) => {
    const server = createHttpServer({
      ...{ keys, routes, files, tls, place: () => place },
      onTrusted: socket => connections.trust(socket),
      headersMs: options.limits?.headersMs,
      unreadMs: options.limits?.unreadMs,
      toHttpError: error => {
        const answer = toHttpError(error)
        // An intended refusal, such as too many streams, is no internal error.
        if (answer.status >= 500 && !(error instanceof HttpError)) onFault(error)
        return answer
      },
    })
    connections.watch(server)
    return server.on('upgrade', sockets.upgrade)
  }

  const doors = await openDoors({
    ...{ host: address, port: options.port ?? DEFAULT_PORT, create },
    tls: options.exposed && 'tls' in options.exposed ? options.exposed.tls : undefined,
    publicOrigins: options.publicOrigins,
  })
  const { url, port } = doors
  const newSignInLink = () => `${doors.pageUrl}/#sign-in=${keys.newSignInSecret()}`
  const personas = new PersonaManager()
  const host = new SessionHost({
    ...{ harnesses: options.harnesses, address: url, home, personas },
    decisionTimeoutMs: options.decisionTimeoutMs,
    spentElsewhere: options.fleet === undefined ? options.spentElsewhere : toldTo(options.fleet),
  })
  log = host
  const projects = new ProjectRegistry(home, async root => {
    await loops.closeProject(root)
    await closeIfThere(host, root)
  })
  const loops = new ServerLoops({
    ...{ host, projects, onFault },
    atRest: (folders, work) => host.changes.hold(folders, () => requireRest(host, folders), work),
    ...(options.fleet?.info().role === 'hub' ? { away: awayTurns(options.fleet, options.harnesses) } : {}),
  })
  const schedules = new ServerSchedules({ home, address: url, host, loops, projects, onFault })
  const push = new PushService({
    ...{ home, host, loops, schedules, onFault, allowLocal: options.allowLocalPush, fleet: options.fleet },
  })
  const services: AppServices = {
    ...{ host, personas, browsers, push, loops, schedules, projects, harnesses: options.harnesses },
    agents: options.agents ?? new OwnAgents({ dataFolder: home, harnesses: options.harnesses }),
    programs: new Programs(home, keys),
    trials: new AgentTrials(home, options.tryAgent),
    removed: new RemovedSessions(),
    discarded: new DiscardedSessions({ home, deleteForGood: id => deleteForGood(services, id) }),
    stopped: new StoppedTurns(host),
    readMarks: new KeptNumbers(home, 'read-marks.json'),
    contextSizes: new KeptNumbers(home, 'context-sizes.json'),
    ...(options.fleet === undefined ? {} : { fleet: options.fleet }),
    facts: {
      ...{ version, home, newSignInLink, demo: options.demo ?? null },
      startedAt: new Date().toISOString(),
      address: () => url,
      reach: () =>
        isLoopback(new URL(doors.pageUrl).hostname.replace(/^\[|]$/g, '')) ? 'this-machine' : 'network',
      sockets: () => sockets.size,
      connections: () => connections.size,
    },
  }
  host.moves.keptWith(id => requireKept(services, id))
  host.onDeleted(id => services.removed.tell(id))
  const rawLogs = new RawLogKeeper(services)
  const proxies = proxiesOf(options)
  const api = apiRoutes({
    ...{ services, keys, browsers, version, router: appRouter, onFault },
    addressOf: request => clientAddress(request, proxies),
  })
  routes.push(...api.routes)
  place = doors.place

  let closing: Promise<void> | undefined
  const close = async (agents: 'stop' | 'leave') => {
    // Refuses every further request, also on open connections.
    place = NOWHERE
    // Prepared at once: a second stop signal does not wait for the rest.
    await removeServerFile(home, url)
    const closed = Promise.all(doors.servers.map(server => new Promise(resolve => server.close(resolve))))
    sockets.close()
    push.close()
    // A push that goes on would change the remote after the server said that it ended.
    endPrograms()
    // Before the agents end: a run that ends with the server is not over.
    await schedules.close()
    const loopsOver = loops.close(agents)
    // Not waited for before the user's own agents are stopped.
    const trialsOver = services.trials.close()
    try {
      await services.discarded.close()
      await rawLogs.close()
      await loopsOver
      await host.close({ agents })
    } finally {
      await trialsOver
      // After the agents: their last events are shipped, too. In any case: it may have started a broker.
      await options.fleet?.close()
      // Only now: clients of a stream receive the end of its turn.
      await api.close()
      // What was asked of an agent after those of the host were ended, by a fleet that had just connected or by a request.
      await Promise.all(options.harnesses.getAll().map(harness => harness.endLookups?.()))
      sockets.terminate()
      connections.destroy()
      await closed
    }
  }
  try {
    await services.discarded.load()
    for (const project of options.projects ?? []) {
      const { root } = await services.projects.add(project)
      await openTelling(host, root, onFault)
    }
    void rawLogs.apply()
    void settlePushes(host, { session: id => liveSession(services, id) }).catch(onFault)
    // Not waited for: the git of a server that was killed may still be writing.
    void recoverWorktrees(host)
      .then(() => loops.continueUnfinished().catch(onFault))
      .then(() => schedules.start())
    await writeServerFile(home, { url, token: keys.token, pid: process.pid })
    options.fleet?.start(fleetLocal(services))
  } catch (error) {
    await close('stop')
    throw error
  }
  return {
    ...{ url, port, token: keys.token, link: newSignInLink(), host, routes },
    log: entry => host.log(entry),
    killAgents: () => killAgents(host),
    close: ({ agents = 'stop' } = {}) => {
      closing ??= close(agents)
      return closing
    },
  }
}

/** What a clone has in the place of Chirality's files may not keep the server from the other projects: its fault is told. */
async function openTelling(
  host: SessionHost,
  root: string,
  onFault: (error: unknown) => void,
): Promise<void> {
  await host.openProject(root).catch((error: unknown) => {
    if (!(error instanceof StorageError) || !ODD.has(error.code)) throw error
    onFault(error)
  })
}

const ODD: ReadonlySet<string> = new Set(['unsafe', 'io'])

/** A project whose folder was deleted is closed soon, and must not stay in the list forever. */
async function closeIfThere(host: SessionHost, root: string): Promise<void> {
  await host.closeProject(root).catch((error: unknown) => {
    if (!(error instanceof StorageError) || !GONE.has(error.code)) throw error
  })
}

/** What other machines spent on a project. Nothing without a remote by which they know the project. */
function toldTo(fleet: Pick<FleetService, 'spentElsewhere'>): FindElsewhere {
  return async root => {
    const key = await budgetKey(root)
    return () => (key === undefined ? [] : fleet.spentElsewhere(key))
  }
}

/** Hubs call the procedures of this server that `FORWARDED` names, without a fleet: no call goes on to a third machine. */
function fleetLocal(services: AppServices): FleetLocal {
  const { fleet: _, ...own } = services
  const pace = new SendPace({ buffered: () => 0, onDrain: () => {}, giveUp: () => {} })
  const caller = createCallerFactory(appRouter)({ ...own, pace, takesJson: false, browser: undefined })
  return {
    ...{ host: own.host, version: own.facts.version, answer: answerWith(caller) },
    onRemoved: listener => own.removed.onRemoved(listener),
    isDiscarded: sessionId => own.discarded.has(sessionId),
    toldByWork: sessionId => toldByWork(own, sessionId),
    left: sessionId => own.removed.tell(sessionId),
    spent: async () => {
      // Also those that are not open: what they cost is spent.
      const registered = (await own.projects.list()).map(({ root }) => root)
      const roots = [...new Set([...own.host.projects(), ...registered])]
      const each = await Promise.all(
        roots.map(async root => {
          const key = await budgetKey(root)
          // No turn of a project begins whose limits cannot be read.
          const spent = key && (await own.host.spent(root).catch(() => undefined))
          return spent ? [{ key, ...spent }] : []
        }),
      )
      return each.flat()
    },
    repositories: () =>
      Promise.all(own.host.projects().map(async root => ({ root, key: await repositoryKey(root) }))),
    agents: async () => {
      const found = await own.harnesses.checkAllInstallStatus()
      return own.harnesses.getAll().map(harness => {
        const { id, name } = harness.meta()
        const status = found.get(id)
        return {
          ...{ id, name, installed: status?.installed === true },
          loggedIn: status?.installed === true && status.authenticated !== false,
          version: status?.version ?? null,
        }
      })
    },
  }
}

/** Finishes what a server that was killed began to make or to remove. */
async function recoverWorktrees(host: SessionHost): Promise<void> {
  try {
    for (const { error } of await host.worktrees.recover()) host.logFault(error)
  } catch (error) {
    host.logFault(error)
  }
}

const GONE: ReadonlySet<string> = new Set(['project-missing', 'project-not-a-directory'])

const DEFAULT_PORT = 4096
const NOWHERE: Place = { hosts: new Set(), origins: new Map() }
