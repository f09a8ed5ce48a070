import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Check } from './check-agent.ts'

/** What a machine of a fleet needs. None without a fleet, and nothing of it is loaded then. */
export async function checkFleet(home: string): Promise<Check[]> {
  if (!existsSync(path.join(home, 'fleet', 'member.json'))) return []
  const { findNatsServer, readBroker, readMember, tryConnection } = await import('@chirality/fleet')
  const told = async (check: string, detail: () => Promise<string>): Promise<Check> => {
    try {
      return { check, ok: true, detail: await detail() }
    } catch (error) {
      // The messages of a fleet say what to do.
      return { check, ok: false, detail: error instanceof Error ? error.message : String(error) }
    }
  }
  const broker = await readBroker(home).catch(() => undefined)
  const hasBroker = broker !== undefined && broker.cluster === undefined
  return [
    await told('fleet', async () => {
      const member = await readMember(home)
      if (member === undefined) return 'none'
      await tryConnection(member)
      return `${member.role} ${member.machine} of ${member.url}`
    }),
    ...(hasBroker
      ? [
          await told('fleet broker', async () => {
            const { path: program, version } = await findNatsServer({ home })
            return `nats-server ${version} at ${program}`
          }),
        ]
      : []),
  ]
}
