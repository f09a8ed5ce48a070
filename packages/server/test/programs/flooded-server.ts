// A server in a process of its own, so that its memory can be seen. Each line on stdin is a number of bytes to put into the log.
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { startServer } from '../../src/index.ts'

const [folder = '', stallMs = '30000'] = process.argv.slice(2)
const project = `${folder}/project`
const server = await startServer({
  harnesses: new HarnessRegistry<SessionHarness>(),
  projects: [project],
  home: `${folder}/home`,
  port: 0,
  pace: { stallMs: Number(stallMs) },
})
const { id } = await server.host.createSession(project)
const { log } = await server.host.session(id)
const { url, token } = server
say({ url, token, sessionId: id })

for await (const line of createInterface(process.stdin)) {
  const message = 'x'.repeat(eventBytes())
  for (let written = 0; written < Number(line); written += message.length) {
    log.append({ type: 'status', sessionId: id, status: 'notice', message, level: 'info' }, { turnId: null })
    if (written % (64 * message.length) === 0) await setImmediate()
  }
  await log.flush()
  say({ rssBytes: process.memoryUsage.rss(), lastSeq: log.lastSeq })
}
await server.close()

function eventBytes(): number {
  return 4000
}

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
