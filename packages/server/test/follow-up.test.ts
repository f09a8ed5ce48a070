import { createHook } from 'node:async_hooks'
import { Socket } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { expect, onTestFinished, test } from 'vitest'
import { startTestServer } from './support/test-server.ts'

/** Speaks stream-json like Claude Code, without a model. */
const AGENT = fileURLToPath(new URL('../bench/follow-up/stamping-agent.mjs', import.meta.url))

test('a follow-up turn is on the stdin of its agent without having waited for a file', async () => {
  const harnesses = new HarnessRegistry<SessionHarness>()
  const environment = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: '/nonexistent' }
  harnesses.register(new ClaudeCodeHarness({ binaryPath: AGENT, environment }))
  const server = await startTestServer({ harnesses })
  const { id: sessionId } = await server.host.createSession(server.project)
  const turn = async () => {
    const waits = watchFileRequests()
    const response = await server.post('/api/harness/turn', { sessionId, message: 'Again.' })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('event: chat:complete')
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
