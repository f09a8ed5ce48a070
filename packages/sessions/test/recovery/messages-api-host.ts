// Hosts a turn of the Messages API agent until it is killed: `messages-api-host.ts OPTIONS`.
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { SessionHost } from '../../src/host/session-host.ts'

export interface MessagesApiHostOptions {
  project: string
  data: string
  sessionId: string
  environment: Record<string, string>
}

const { project, data, sessionId, environment }: MessagesApiHostOptions = JSON.parse(process.argv[2] ?? '{}')
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(new MessagesApiHarness({ environment }))
const host = new SessionHost({ harnesses, address: 'http://127.0.0.1:1', home: data })
await host.openProject(project)
const session = await host.session(sessionId)
await session.send('Go', { autoApproveTools: ['bash'] })
await session.settled()
await host.close()
