// Machines in network namespaces whose wires are pulled: nobody is told that a connection is over. Only root can make them.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeTestNetwork, type TestNetwork } from '../../../.scripts/test-network.ts'
import { logPath } from '../src/ship/shipper.ts'
import { subjects } from '../src/subjects.ts'
import { startCluster } from './support/cluster.ts'
import { folder, later } from './support/fleet.ts'
import { type MachineProcess, ProcessFleet } from './support/processes/process-fleet.ts'
import type { StoredPart } from './support/processes/protocol.ts'

const ADDRESSES = { a: '192.0.2.10', b: '192.0.2.11', c: '192.0.2.12' } as const
type Place = keyof typeof ADDRESSES

/** Long enough to be at work when the hub has noticed that the machine is away. */
const SPEECH = { perSecond: 50, seconds: 40 }

const isRoot = process.platform === 'linux' && process.getuid?.() === 0

function network(): TestNetwork<Place> {
  const made = makeTestNetwork(ADDRESSES)
  if (made === undefined) throw new Error('No network namespace can be made here. Install iproute2.')
  onTestFinished(() => made.close())
  return made
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
const mirrorOf = (hub: MachineProcess, machine: string) => join(hub.home, 'fleet', 'mirrors', machine)

/** A hub has the log of a session of a machine, byte for byte. */
async function isMirrored(
  hub: MachineProcess,
  [name, machine]: readonly [string, MachineProcess],
  id: string,
): Promise<void> {
  const own = logPath(machine.project, id)
  const mirrored = logPath(mirrorOf(hub, name), id)
  const isSame = () => sizeOf(own) > 0 && sizeOf(own) === sizeOf(mirrored) && same(own, mirrored)
  await expect.poll(isSame, { timeout: 110_000, interval: 200 }).toBe(true)
  // It was not taken for a log that was written anew.
  expect(existsSync(join(mirrorOf(hub, name), 'replaced'))).toBe(false)
}

function same(one: string, other: string): boolean {
  return readFileSync(one).equals(readFileSync(other))
}

test.runIf(isRoot)(
  'a worker whose wire is pulled in the middle of turns is away; its agents work on, and all is shipped when it is back',
  async () => {
    const wires = network()
    const fleet = await ProcessFleet.start({
      places: { host: ADDRESSES.a, enter: machine => wires.enter(machine === 'hub' ? 'a' : 'b') },
    })
    later(() => fleet.close())
    const { hub } = fleet
    const worker = await fleet.machine('worker')
    const { sessionIds = [] } = await worker.send({ do: 'create', sessions: 3 })
    const [first = ''] = sessionIds
    for (const id of sessionIds) await isMirrored(hub, ['worker', worker], id)
    const own = () => sizeOf(logPath(worker.project, first))
    const mirrored = () => sizeOf(logPath(mirrorOf(hub, 'worker'), first))
    const before = mirrored()
    const spoken = worker.send({ do: 'speak', ...SPEECH })
    await expect.poll(mirrored).toBeGreaterThan(before)

    wires.unplug('b')
    await hub.until({ do: 'machines' }, ({ states }) => states?.worker === 'away')
    const whenAway = own()
    await expect.poll(own).toBeGreaterThan(whenAway)
    const { events = 0 } = await spoken
    expect(events).toBeGreaterThan(SPEECH.seconds)
    expect(mirrored()).toBeLessThan(whenAway)
    expect((await hub.send({ do: 'machines' })).states?.worker).toBe('away')

    wires.plug('b')
    await hub.until({ do: 'machines' }, ({ states }) => states?.worker === 'here')
    for (const id of sessionIds) await isMirrored(hub, ['worker', worker], id)
  },
)

test.runIf(isRoot)(
  'one broker of three that is cut from the others stores nothing and that is said; on both sides agents work on, and all is stored once when the wire is back',
  async () => {
    const wires = network()
    const places: Record<string, Place> = { hub: 'a', near: 'a', far: 'b', 'hub-2': 'c' }
    const enter = (machine: string) => wires.enter(places[machine] ?? 'a')
    const cluster = await startCluster(
      (['a', 'b', 'c'] as const).map(at => ({ host: ADDRESSES[at], enter: wires.enter(at) })),
    )
    const fleet = await ProcessFleet.over(folder(), cluster.home, enter)
    later(() => fleet.close())
    const { hub } = fleet
    const near = await fleet.machine('near')
    const far = await fleet.machine('far')
    const other = await fleet.machine('hub-2', { role: 'hub' })
    const workers = [['near', near] as const, ['far', far] as const]
    const ids = new Map<string, string[]>()
    for (const [name, worker] of workers) {
      const { sessionIds = [] } = await worker.send({ do: 'create', sessions: 2 })
      ids.set(name, sessionIds)
    }
    const areMirrored = async (on: MachineProcess, worker: (typeof workers)[number]) => {
      for (const id of ids.get(worker[0]) ?? []) await isMirrored(on, worker, id)
    }
    for (const worker of workers) for (const on of [hub, other]) await areMirrored(on, worker)

    const spoken = workers.map(([, worker]) => worker.send({ do: 'speak', ...SPEECH, seconds: 20 }))
    wires.unplug('a')
    const isReadOnly = (on: MachineProcess) =>
      on.until({ do: 'info' }, ({ readOnly }) => typeof readOnly === 'string')
    const claims = Promise.all([
      ...[hub, other].map(async on => {
        const { claimed } = await on.send({ do: 'claim', work: 'split' })
        return claimed
      }),
    ])
    await isReadOnly(hub)
    await Promise.all(spoken)
    await isReadOnly(near)
    // The two others carry on: what was said on their side is stored, and read.
    await other.until({ do: 'info' }, ({ readOnly }) => readOnly === null)
    await areMirrored(other, ['far', far])
    const [nearId = ''] = ids.get('near') ?? []
    expect(sizeOf(logPath(mirrorOf(other, 'near'), nearId))).toBeLessThan(
      sizeOf(logPath(near.project, nearId)),
    )
    // A machine that was told that it has the work has it alone.
    const [onCutSide, onOtherSide] = await claims
    expect(onCutSide).not.toBe('stored')
    if (onOtherSide !== 'stored')
      expect((await other.until({ do: 'claim', work: 'split' }, isKnown)).claimed).toBe('stored')

    wires.plug('a')
    for (const worker of workers) for (const on of [hub, other]) await areMirrored(on, worker)
    for (const on of [hub, near, far, other])
      await on.until({ do: 'info' }, ({ readOnly }) => readOnly === null)
    expect((await hub.until({ do: 'claim', work: 'split' }, isKnown)).claimed).toBe('conflict')
    // Each byte of each log is in the stream once.
    for (const [name, worker] of workers)
      for (const id of ids.get(name) ?? []) {
        const size = sizeOf(logPath(worker.project, id))
        const subject = subjects.events(name, id)
        const all = (parts: StoredPart[] = []) => parts.filter(part => part.subject === subject)
        const { parts } = await other.until({ do: 'parts' }, reply => all(reply.parts).at(-1)?.to === size)
        const stored = all(parts)
        expect(stored.map(({ from }) => from)).toEqual([0, ...stored.slice(0, -1).map(({ to }) => to)])
        expect(new Set(stored.map(({ generation }) => generation)).size).toBe(1)
      }
  },
)

function isKnown({ claimed }: { claimed?: string }): boolean {
  return claimed !== 'unknown'
}
