// The real server, with the built dashboard, in a process of its own: what it costs must not slow the browser's driver.
import { mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { startServer } from '@chirality/server'
import type { Command, Reply } from './protocol.ts'
import { StreamHarness } from './stream-harness.ts'

const [folder = ''] = process.argv.slice(2)
const project = path.join(folder, 'project')
mkdirSync(project)
const harness = new StreamHarness()
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(harness)
const { url, token, host } = await startServer({
  ...{ harnesses, projects: [project], home: path.join(folder, 'home'), port: 0 },
  dashboard: path.join(import.meta.dirname, '../../dist'),
})

process.on('message', (command: Command) => {
  void run(command).then(reply => process.send?.(reply))
})
// Nobody is left to end it.
process.on('disconnect', () => process.exit())
process.send?.({ url, token } satisfies Reply)

async function run(command: Command): Promise<Reply> {
  switch (command.do) {
    case 'import': {
      const { id } = await host.importSession('stream', String(command.events), project)
      await host.renameSession(id, 'Long session')
      return { sessionId: id }
    }
    case 'create': {
      const { id } = await host.createSession(project, { title: command.title, harness: 'stream' })
      return { sessionId: id }
    }
    case 'stream': {
      harness.plan = command.plan
      const session = await host.session(command.sessionId)
      await session.start('Write it.')
      await session.settled()
      return { sentAt: harness.sentAt, logBytes: statSync(session.log.path).size }
    }
    case 'stream-all': {
      harness.plan = command.plan
      const sessions = await Promise.all(command.sessionIds.map(id => host.session(id)))
      await Promise.all(sessions.map(session => session.start('Write it.')))
      await Promise.all(sessions.map(session => session.settled()))
      return {}
    }
    case 'delete':
      // By a call of its own: only those are told to the pages.
      await fetch(`${url}/api/harness/session/${command.sessionId}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}` },
      })
      return {}
  }
}
