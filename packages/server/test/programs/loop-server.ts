// A server in a process of its own, which is killed while it works on a loop: `loop-server.ts OPTIONS`.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { startServer } from '../../src/index.ts'

export interface LoopServerOptions {
  project: string
  home: string
  environment: Record<string, string>
  /** Ends the process just before or just after an entry of this type is in a journal. */
  killAt?: KillPoint
}

export interface KillPoint {
  when: 'before' | 'after'
  type: string
}

const { project, home, environment, killAt }: LoopServerOptions = JSON.parse(process.argv[2] ?? '{}')
if (killAt !== undefined) endAt(killAt)
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(new MessagesApiHarness({ environment }))
const { url, token } = await startServer({ harnesses, projects: [project], home, port: 0 })
process.stdout.write(`${JSON.stringify({ url, token })}\n`)

function endAt({ when, type }: KillPoint): void {
  const { writeSync, fsyncSync } = fs
  let isWritten = false
  const end = () => process.kill(process.pid, 'SIGKILL')
  fs.writeSync = ((...args: Parameters<typeof writeSync>) => {
    const [, written] = args as unknown as [number, string | Uint8Array]
    const text = typeof written === 'string' ? written : Buffer.from(written).toString()
    const isIt = text.startsWith('{"at":') && text.includes(`"type":"${type}"`)
    if (isIt && when === 'before') end()
    isWritten ||= isIt
    return writeSync(...args)
  }) as typeof writeSync
  fs.fsyncSync = fd => {
    fsyncSync(fd)
    if (isWritten) end()
  }
  syncBuiltinESMExports()
}
