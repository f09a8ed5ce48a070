import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSessionLog, type SessionLog } from '@chirality/sessions'
import { onTestFinished } from 'vitest'
import { answerJoins, initFleet, invite, joinFleet, refreshBroker } from '../../src/engine/broker.ts'
import { type RunningBroker, startBroker } from '../../src/engine/broker-process.ts'
import type { Member } from '../../src/engine/fleet-files.ts'
import { Link } from '../../src/engine/link.ts'
import type { ShippableSession, ShippableSessions } from '../../src/ship/awake-sessions.ts'
import { freePort, natsBinary, whenItWorks } from './nats.ts'

const cleanups: (() => unknown)[] = []

/** Done when the test is over, the last first. Registered by the test: files of one process share this module. */
export function later(clean: () => unknown): void {
  if (cleanups.length === 0) onTestFinished(cleanUp)
  cleanups.push(clean)
}

async function cleanUp(): Promise<void> {
  const faults: unknown[] = []
  // One that fails does not keep the others from what they have to end and remove.
  for (const clean of cleanups.splice(0).reverse())
    try {
      await clean()
    } catch (error) {
      faults.push(error)
    }
  if (faults.length > 0) throw faults[0]
}

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'chirality-fleet-'))
  // A process that was killed a moment ago may still write its last file.
  later(() => rmSync(made, { recursive: true, force: true, maxRetries: 5 }))
  return made
}

export interface TestFleet {
  home: string
  hub: Member
  broker: RunningBroker
  restart: () => Promise<void>
  stop: () => Promise<void>
}

/** A hub with a running broker. */
export async function startFleet(): Promise<TestFleet> {
  const home = folder()
  const hub = await initFleet({ home, machine: 'hub', port: await freePort() })
  const binary = await natsBinary()
  let broker = await startBroker(home, await refreshBroker(home), { binary })
  later(() => broker.stop())
  const stop = () => broker.stop()
  const restart = async () => {
    broker = await startBroker(home, await refreshBroker(home), { binary })
  }
  return { home, hub, broker, stop, restart }
}

export async function connect(member: Member): Promise<Link> {
  const link = await Link.open(member)
  later(() => link.close())
  return link
}

/** Another machine, which joined by a code. */
export async function joined(
  fleet: Pick<TestFleet, 'home'>,
  hubLink: Link,
  machine = 'worker',
  role: Member['role'] = 'worker',
): Promise<{ home: string; member: Member }> {
  const home = folder()
  const stop = answerJoins(fleet.home, hubLink, () => {})
  const { code } = await invite(fleet.home, role)
  const { member } = await whenItWorks(() => joinFleet({ home, code, machine }))
  stop()
  await whenItWorks(async () => (await Link.open(member)).close())
  return { home, member }
}

export async function sessionLog(projectRoot: string, id: string): Promise<SessionLog> {
  const log = await openSessionLog(projectRoot, id)
  later(() => log.close())
  return log
}

export function say(log: SessionLog, text: string): void {
  log.append({ type: 'chat:delta', sessionId: log.sessionId, text } as Parameters<SessionLog['append']>[0], {
    turnId: 't',
  })
}

/** A machine that does nothing for others. */
export const NO_WORK = { answer: () => Promise.reject(new Error('no work is done here')) }

/** The open sessions of a machine on which nothing changes. */
export function openSessions(...statuses: ShippableSession[]): ShippableSessions {
  const openSession = (id: string) => {
    const status = statuses.find(({ sessionId }) => sessionId === id)
    return status && { status }
  }
  return { statuses: () => statuses, openSession, onStatus: () => () => {} }
}
