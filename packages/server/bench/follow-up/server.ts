// A server with one Claude Code harness, as a process of its own: what a client waits for is then not the client's own work.

import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { startServer } from '../../src/index.ts'

const { binaryPath, environment, project, home, sessions = 1 } = JSON.parse(process.argv[2] ?? '{}')
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(new ClaudeCodeHarness({ binaryPath, environment }))
const server = await startServer({ harnesses, projects: [project], home, port: 0 })
const sessionIds: string[] = []
for (let i = 0; i < sessions; i += 1) sessionIds.push((await server.host.createSession(project)).id)
process.once('message', () => void server.close().then(() => process.exit()))
process.once('disconnect', () => process.exit())
process.send?.({ url: server.url, token: server.token, sessionIds })
