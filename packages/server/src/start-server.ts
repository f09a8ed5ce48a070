import {
  type CentreOptions,
  createCentre,
  type Entrance,
  type FleetService,
  type RunningCentre,
} from '@chirality/centre'
import type { RunnerLogEntry } from '@chirality/runner'
import { type SessionHost, userDataFolder } from '@chirality/sessions'
import { listBrowsers, SignedInBrowsers } from './browsers/signed-in-browsers.ts'
import { ENDPOINTS } from './contract/endpoints.ts'
import { Front, type FrontOptions } from './front.ts'
import { clientAddress } from './guard/facts.ts'
import { Keys, LINK_MINUTES } from './guard/keys.ts'
import { checkBinding, isLoopback, proxiesOf } from './http/check-binding.ts'
import type { Route } from './http/routes.ts'
import type { SendPaceOptions } from './http/send-pace.ts'
import { type Api, apiRoutes } from './rest/api-routes.ts'
import { serveTrpc } from './socket/trpc-socket.ts'
import { removeServerFile, writeServerFile } from './system/server-file.ts'
import { appRouter } from './trpc/router.ts'

export interface ServerOptions
  extends Omit<CentreOptions, 'entrance' | 'machines'>,
    Omit<FrontOptions, 'keys'> {
  /** Folders that the user names at the start of the server: they are registered and opened. */
  projects?: string[]
  pace?: SendPaceOptions
  /** The other machines. Closed with the server. */
  fleet?: FleetService
}

export interface RunningServer {
  /** The address for this machine: `http://127.0.0.1:4096`. */
  readonly url: string
  /** The port of `url`: the one that it listens at, also where 0 was asked for. */
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

/** Serves an application of its own to browsers and programs. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { home = userDataFolder(), version = '0.0.0', fleet: machines, projects } = options
  checkBinding(options)
  const keys = new Keys()
  const browsers = new SignedInBrowsers(home, keys)
  const front = await Front.listen({ ...options, keys })
  const { url, port } = front.doors
  const entrance = entranceOf({ front, keys, browsers, home })
  const running = createCentre({ ...options, home, version, machines, entrance })
  const { centre, onFault } = running
  const proxies = proxiesOf(options)
  const api = apiRoutes({
    centre,
    keys,
    browsers,
    version,
    router: appRouter,
    onFault,
    addressOf: request => clientAddress(request, proxies),
  })
  front.serve({
    routes: api.routes,
    onFault,
    onSocket: accepted => serveTrpc(accepted, { router: appRouter, centre, pace: options.pace, onFault }),
  })
  let closing: Promise<void> | undefined
  const close = (agents: 'stop' | 'leave') => {
    closing ??= closeServer({ home, front, running, api }, agents)
    return closing
  }
  try {
    await running.start(projects)
    await writeServerFile(home, { url, token: keys.token, pid: process.pid })
  } catch (error) {
    await close('stop')
    throw error
  }
  return {
    url,
    port,
    token: keys.token,
    link: entrance.newSignInLink().url,
    host: centre.host,
    routes: api.routes,
    log: running.log,
    killAgents: running.killAgents,
    close: ({ agents = 'stop' } = {}) => close(agents),
  }
}

interface Parts {
  home: string
  front: Front
  running: RunningCentre
  api: Api
}

async function closeServer({ home, front, running, api }: Parts, agents: 'stop' | 'leave'): Promise<void> {
  front.refuse()
  // Prepared at once: a second stop signal does not wait for the rest.
  await removeServerFile(home, front.doors.url)
  front.leave()
  try {
    // Only when its logs are closed: clients of a stream receive the end of its turn.
    await running.close({ agents, drain: () => api.close() })
  } finally {
    await front.close()
  }
}

interface EntranceParts extends Pick<Parts, 'front' | 'home'> {
  keys: Keys
  browsers: SignedInBrowsers
}

function entranceOf({ front, keys, browsers, home }: EntranceParts): Entrance {
  const { url, pageUrl } = front.doors
  const isHere = (address: string) =>
    URL.canParse(address) && isLoopback(new URL(address).hostname.replace(/^\[|]$/g, ''))
  return {
    address: url,
    sockets: () => front.sockets,
    connections: () => front.connections,
    newSignInLink: () => ({
      url: `${pageUrl}/#sign-in=${keys.newSignInSecret()}`,
      minutes: LINK_MINUTES,
      reach: isHere(pageUrl) ? 'this-machine' : 'network',
    }),
    newProgramToken: scope => ({ url: `${url}${ENDPOINTS.mcp.path}`, token: keys.newProgramToken(scope) }),
    browsers: () => browsers.list(),
    remembered: () => listBrowsers(home),
    revokeBrowser: id => browsers.revoke(id),
    isThisMachine: async id => isHere((await browsers.list()).find(one => one.id === id)?.origin ?? ''),
  }
}
