import { mkdirSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { checkAnswers } from '@chirality/centre'
import type { SessionHarness, UIEvent } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import type { SessionLog } from '@chirality/sessions'
import { onTestFinished } from 'vitest'
import { type RunningServer, type ServerOptions, startServer } from '../../src/index.ts'

export interface TestServer extends RunningServer {
  readonly project: string
  readonly home: string
  /** What went wrong inside, which must be nothing unless a test says so. */
  readonly faults: unknown[]
  fetch(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  dispose(): Promise<void>
}

/** A server with a project of its own and no agents. Gone when the test is. */
export async function startTestServer(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const server = await openTestServer(options)
  onTestFinished(server.dispose)
  return server
}

/** The same for several tests: `dispose` when they are done. */
export async function openTestServer(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  checkAnswers()
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-server-')))
  const [project, home] = [path.join(folder, 'project'), path.join(folder, 'home')]
  mkdirSync(project)
  const faults: unknown[] = []
  const server = await startServer({
    harnesses: new HarnessRegistry<SessionHarness>(),
    projects: [project],
    port: 0,
    home,
    version: '1.2.3',
    onFault: error => faults.push(error),
    ...options,
  }).catch(async error => {
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  const withToken = { authorization: `Bearer ${server.token}` }
  const fetchPath = (url: string, init: RequestInit = {}) =>
    fetch(`${server.url}${url}`, { ...init, headers: { ...withToken, ...init.headers } })
  return {
    ...server,
    ...{ project, home, faults },
    fetch: fetchPath,
    post: (url, body) =>
      fetchPath(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    dispose: async () => {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A session with so many events in its log, as an agent would have left them. */
export async function sessionWith(
  server: TestServer,
  events: number,
): Promise<{ id: string; log: SessionLog }> {
  const { id } = await server.host.createSession(server.project)
  const { log } = await server.host.session(id)
  appendEvents(log, events)
  await log.flush()
  return { id, log }
}

export function appendEvents(log: SessionLog, count: number, text = 'x'.repeat(200)): void {
  for (let i = 0; i < count; i += 1) log.append(notice(log.sessionId, `${i} ${text}`), { turnId: null })
}

/** An event that is never joined with its neighbours. */
export function notice(sessionId: string, message: string): UIEvent {
  return { type: 'status', sessionId, status: 'notice', message, level: 'info' }
}
