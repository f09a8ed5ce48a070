import { mkdirSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness, UIEvent } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { type RunningServer, type ServerOptions, startServer } from '@chirality/server'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { createLiveClient, type LiveClient, type LiveClientOptions } from '../../src/index.ts'

export interface TestServer extends RunningServer {
  project: string
  /** Starts it once more at the same address, after `close`. */
  again(): Promise<RunningServer>
}

/** A real server with a project of its own and no agents. Gone when the test is. */
export async function startTestServer(): Promise<TestServer> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-client-')))
  const project = path.join(folder, 'project')
  mkdirSync(project)
  const start = async (options: Partial<ServerOptions>) => {
    const harnesses = new HarnessRegistry<SessionHarness>()
    const server = await startServer({
      harnesses,
      projects: [project],
      home: path.join(folder, 'home'),
      ...options,
    })
    onTestFinished(() => server.close())
    return server
  }
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const server = await start({ port: 0 })
  return { ...server, project, again: () => start({ port: server.port }) }
}

/** The client as a page has it: an Origin in the handshake. */
export function connect({ url }: RunningServer, options: Omit<LiveClientOptions, 'url'>): LiveClient {
  class BrowserLike extends WebSocket {
    constructor(address: string | URL, protocols: string[]) {
      super(address, protocols, { origin: url })
    }
  }
  const client = createLiveClient({
    url: `${url.replace('http', 'ws')}/trpc`,
    WebSocket: BrowserLike as unknown as typeof globalThis.WebSocket,
    ...options,
  })
  onTestFinished(() => client.close())
  return client
}

/** An event that is never joined with its neighbours. */
export function notice(sessionId: string, message: string): UIEvent {
  return { type: 'status', sessionId, status: 'notice', message, level: 'info' }
}
