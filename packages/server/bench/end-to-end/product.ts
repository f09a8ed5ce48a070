// The whole way: agents in files, read, translated, logged, and sent over tRPC.

import type { SessionHarness } from '@chirality/core'
import { ClaudeCodeHarness, HarnessRegistry } from '@chirality/runner'
import { startServer } from '../../src/index.ts'
import { serveBench } from './serve-bench.ts'

const [root = '', program = '', agents = '1'] = process.argv.slice(2)
const project = `${root}/project`
const harnesses = new HarnessRegistry<SessionHarness>()
const environment = { PATH: process.env.PATH ?? '', HOME: root, ANTHROPIC_API_KEY: 'none' }
harnesses.register(new ClaudeCodeHarness({ binaryPath: program, environment }))
const { url, token, host } = await startServer({
  ...{ harnesses, projects: [project], home: `${root}/home`, port: 0, limits: { handshakesPerSecond: 1e6 } },
})
const sessions: { id: string }[] = []
for (let i = 0; i < Number(agents); i += 1) sessions.push(await host.createSession(project))

serveBench({
  hello: { url: `${url.replace('http', 'ws')}/trpc`, token, sessionIds: sessions.map(({ id }) => id) },
  async begin() {
    for (const { id } of sessions) await (await host.session(id)).start('Go')
  },
})
