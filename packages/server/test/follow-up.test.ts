import { createHook } from 'node:async_hooks'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionHarness } from '@chirality/core'
import {
  ClaudeCodeHarness,
  type ClaudeCodeHarnessConfig,
  HarnessRegistry,
  readProcess,
} from '@chirality/runner'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startTestServer, type TestServer } from './support/test-server.ts'

/** Speaks stream-json like Claude Code, without a model. */
const AGENT = fileURLToPath(new URL('../bench/follow-up/stamping-agent.mjs', import.meta.url))

test('a follow-up turn is on the stdin of its agent without having waited for a file', async () => {
  const { server } = await startWithAgent()
  const { id: sessionId } = await server.host.createSession(server.project)
  const turn = async () => {
    const waits = watchFileRequests()
    await runTurn(server, sessionId)
    return waits
  }
  await turn()
  const waits: string[][] = []
  for (let i = 0; i < 4; i += 1) {
    await (await server.host.session(sessionId)).settled()
    const { beforeStdin } = await turn()
    // The log is synced, and the files of the project are recorded, beside the agent.
    waits.push(beforeStdin.filter(stack => !/group-sync|find-repository|turn-changes/.test(stack)))
  }
  // Now and then something else of the server falls into that moment; what belongs to the turn would be in each.
  expect(waits).toContainEqual([])
  expect(server.faults).toEqual([])
})

test('a follow-up turn in a project with agent settings does not read them again while they are unchanged', async () => {
  const { server } = await startWithAgent()
  const settings = path.join(server.project, '.claude', 'settings.json')
  mkdirSync(path.join(server.project, '.claude', 'commands'), { recursive: true })
  writeFileSync(settings, '{}')
  writeFileSync(path.join(server.project, '.claude', 'commands', 'hello.md'), 'Say hello.')
  writeFileSync(path.join(server.project, '.mcp.json'), '{"mcpServers":{}}')
  const { id: sessionId } = await server.host.createSession(server.project)
  const turn = async () => {
    await (await server.host.session(sessionId)).settled()
    const { beforeStdin } = watchFileRequests()
    await runTurn(server, sessionId)
    return beforeStdin.filter(stack => stack.includes('project-files'))
  }
  expect(await turn()).not.toEqual([])
  // Files are trusted to be unchanged once their last change is some seconds old.
  await expect.poll(turn).toEqual([])
  const { fingerprint } = await server.host.trust.state(server.project)
  // Same size and time of change: an agent could hide a change so.
  const { atime, mtime } = statSync(settings)
  writeFileSync(settings, '[]')
  utimesSync(settings, atime, mtime)
  expect(await turn()).not.toEqual([])
  expect((await server.host.trust.state(server.project)).fingerprint).not.toBe(fingerprint)
})

test('ten sessions in turn keep their ten agents while the memory for them is not used up', async () => {
  const { server } = await startWithAgent({ keepMemory: { bytes: 2 ** 40 } })
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () => (await server.host.createSession(server.project)).id),
  )
  const turns = async () => {
    for (const id of ids) await runTurn(server, id)
  }
  await turns()
  await turns()
  // Each agent that is started has a raw log of its own.
  const logs = readdirSync(path.join(server.project, '.chirality', 'logs', 'claude-code'))
  expect(logs.filter(name => name.endsWith('.ndjson'))).toHaveLength(ids.length)
})

test('with no memory for agents between turns each turn has an agent of its own', async () => {
  const { server } = await startWithAgent({ keepMemory: { bytes: 0 } })
  const { id } = await server.host.createSession(server.project)
  for (let i = 0; i < 2; i += 1) {
    await runTurn(server, id)
    await vi.waitFor(() => expect(server.host.openSession(id)?.status.phase).toBe('idle'))
    const agents = path.join(server.project, '.chirality', 'state', 'agents', `${id}.json`)
    const { processes } = JSON.parse(readFileSync(agents, 'utf8'))
    await vi.waitFor(async () => expect(await readProcess(processes.at(-1).pid)).toBeUndefined(), {
      timeout: 20_000,
    })
  }
})

async function startWithAgent(config: ClaudeCodeHarnessConfig = {}) {
  const harnesses = new HarnessRegistry<SessionHarness>()
  const environment = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: '/nonexistent' }
  harnesses.register(new ClaudeCodeHarness({ binaryPath: AGENT, environment, ...config }))
  return { server: await startTestServer({ harnesses }) }
}

async function runTurn(server: TestServer, sessionId: string): Promise<void> {
  const response = await server.post('/api/harness/turn', { sessionId, message: 'Again.' })
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('event: chat:complete')
}

/** Where the requests to the file system came from that the thread pool got until a message was written to an agent. */
function watchFileRequests(): { beforeStdin: string[] } {
  const beforeStdin: string[] = []
  const hook = createHook({
    init: (_id, type) => {
      if (type.startsWith('FSREQ')) beforeStdin.push(new Error(type).stack ?? '')
    },
  })
  const { write } = Socket.prototype
  const stop = () => {
    hook.disable()
    Socket.prototype.write = write
  }
  Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
    if (String(args[0]).startsWith('{"type":"user"')) stop()
    return write.apply(this, args)
  } as typeof write
  onTestFinished(stop)
  hook.enable()
  return { beforeStdin }
}
