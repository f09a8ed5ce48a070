import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import { openSessionLog } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { Owners } from '../src/claim/owners.ts'
import type { Link } from '../src/engine/link.ts'
import type { Machine } from '../src/machines.ts'
import { Copies } from '../src/move/copies.ts'
import { Moves } from '../src/move/moves.ts'
import { Takeovers } from '../src/move/takeovers.ts'
import { isAbsent } from '../src/rpc/calls.ts'
import { subjects } from '../src/subjects.ts'
import { connect, folder, joined, startFleet } from './support/fleet.ts'
import { clonesOf, machineOn, mirrorLog, work } from './support/machines.ts'

const NAMES = ['one', 'two', 'three'] as const
type Name = (typeof NAMES)[number]

/** Holds what a hub sends at its n-th message until it is let go. */
class Gate {
  readonly link: Link
  #sent = 0
  #hold: { at: number; reached: () => void; released: Promise<void> } | undefined

  constructor(link: Link) {
    const pass = async () => {
      this.#sent += 1
      if (this.#sent !== this.#hold?.at) return
      this.#hold.reached()
      await this.#hold.released
    }
    this.link = new Proxy(link, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        if (name !== 'request' && name !== 'publish') return value.bind(target)
        return async (...args: unknown[]) => {
          await pass()
          return value.apply(target, args)
        }
      },
    })
  }

  /** Resolves when the message is about to be sent. */
  at(message: number): { reached: Promise<void>; release: () => void } {
    let release = () => {}
    let reached = () => {}
    const isReached = new Promise<void>(resolve => {
      reached = resolve
    })
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    this.#sent = 0
    this.#hold = { at: message, reached, released }
    return { reached: isReached, release }
  }

  get sent(): number {
    return this.#sent
  }
}

async function twoHubs() {
  const fleet = await startFleet()
  const first = await connect(fleet.hub)
  await first.prepare()
  const { member } = await joined(fleet, first, 'hub-2', 'hub')
  const second = await connect(member)
  const root = folder()
  const projects = clonesOf(root, 'one', ['two', 'three'])
  const machines = new Map<Name, Awaited<ReturnType<typeof machineOn>>>()
  for (const [index, name] of NAMES.entries()) {
    const link = await connect((await joined(fleet, first, name)).member)
    const place = { name, home: join(root, `${name}-home`), project: projects[index] ?? '' }
    machines.set(name, await machineOn(link, place))
  }
  const own = (name: Name) => {
    const machine = machines.get(name)
    if (machine === undefined) throw new Error(`There is no machine ${name}.`)
    return machine
  }
  /** Once the hubs reach it: the broker hears of a machine that answers on another connection than theirs. */
  const answering = async (name: Name) => {
    const stop = own(name).answer()
    for (const link of [first, second]) await expect.poll(() => isAbsent(link, name)).toBe(false)
    return stop
  }
  for (const name of ['two', 'three'] as const) await answering(name)
  let leave: (() => void) | undefined = await answering('one')
  const seen = () =>
    NAMES.map(machine => {
      const state = machine === 'one' && leave === undefined ? 'away' : 'here'
      return { machine, state, agents: [], copies: true } as unknown as Machine
    })
  const hubOn = (link: Link, name: string) => {
    const running = new Set<string>()
    const options = { link: () => link, machines: seen, running }
    return { options, moves: new Moves({ ...options, folder: join(root, `${name}-moves`) }) }
  }
  const gate = new Gate(first)
  const hub = hubOn(gate.link, 'first')
  const other = hubOn(second, 'second')
  const remotes = new Map<string, RemoteSession>()
  const copies = new Copies({
    ...other.options,
    folder: join(root, 'copies'),
    sessions: () => [...remotes.values()],
  })
  const mirror = join(root, 'mirror')
  mkdirSync(mirror)
  const takeovers = new Takeovers({
    ...other.options,
    folder: join(root, 'takeovers'),
    copies,
    log: id => openSessionLog(mirror, id),
    session: id => remotes.get(id),
  })
  const owners = new Owners(second)
  return {
    own,
    gate,
    hub: hub.moves,
    other: other.moves,
    takeovers,
    steps: async () => {
      const { id } = await own('one').host.createSession(own('one').project, { title: 'alone' })
      gate.at(0)
      await hub.moves.move(id, 'one', 'two')
      return gate.sent
    },
    /** A session of the machine one, of which the second hub has a copy. */
    copied: async () => {
      const { host, project } = own('one')
      const id = await work(host, project)
      const session = await host.store.resume(id)
      remotes.set(id, { machine: 'one', session, status: null })
      mirrorLog(mirror, session)
      await copies.soon()
      expect(await copies.get('one', id)).toMatchObject({ seq: session.lastSeq })
      return id
    },
    goes: async () => {
      leave?.()
      leave = undefined
      await expect.poll(() => isAbsent(second, 'one')).toBe(true)
    },
    returns: async () => {
      const { refusals, host } = own('one')
      leave ??= await answering('one')
      refusals.forget()
      await refusals.look(host, () => owners)
    },
    /** Unfinished operations are finished; then one machine has the session and can use it. */
    hasOne: async (id: string, at: object): Promise<string> => {
      for (const each of [hub.moves, other.moves, takeovers]) await each.finish()
      const { refusals, host } = own('one')
      await refusals.look(host, () => owners)
      const found = await Promise.all(
        NAMES.map(async name => ((await own(name).host.store.get(id)) === undefined ? [] : [name])),
      )
      const has = found.flat()
      expect({ ...at, has }).toEqual({ ...at, has: [expect.anything()] })
      const [name = 'one'] = has
      const owner = (await owners.read(id))?.machine ?? 'one'
      const leaving = own(name).host.moves.leaving(id)
      expect({ ...at, owner, leaving }).toEqual({ ...at, owner: name, leaving: undefined })
      return name
    },
  }
}

const said = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => error.message,
  )

test('two hubs that move one session at once: whatever one has sent when the other begins, one machine has it in the end', {
  timeout: 600_000,
}, async () => {
  const { own, gate, hub, other, hasOne, steps } = await twoHubs()
  const { host, project } = own('one')
  const ended = new Set<string>()
  for (let step = await steps(); step > 0; step -= 1)
    for (const to of ['three', 'two'] as const) {
      const { id } = await host.createSession(project, { title: `${to} ${step}` })
      const { reached, release } = gate.at(step)
      const moving = said(hub.move(id, 'one', 'two'))
      await reached
      const second = await said(other.move(id, 'one', to))
      release()
      ended.add(await hasOne(id, { step, to, first: await moving, second }))
    }
  expect([...ended].sort()).toEqual(['three', 'two'])
})

test('a session that one hub moves while another takes it over, because its machine went in the middle, is on one machine in the end', {
  timeout: 600_000,
}, async () => {
  const { gate, hub, takeovers, copied, goes, returns, hasOne, steps } = await twoHubs()
  const ended = new Set<string>()
  for (let step = await steps(); step > 0; step -= 1) {
    const id = await copied()
    const { reached, release } = gate.at(step)
    const moving = said(hub.move(id, 'one', 'two'))
    await reached
    await goes()
    const second = await said(takeovers.takeover(id, 'three'))
    release()
    const first = await moving
    await returns()
    ended.add(await hasOne(id, { step, first, second }))
  }
  expect([...ended].sort()).toEqual(['three', 'two'])
})

test('a hub that tries its broker out again and again leaves one claim', async () => {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  for (let times = 0; times < 3; times += 1) await hub.prepare()
  const found = new Set<string>()
  const reader = hub.follow('claims', 'last-of-each', async ({ subject }) => void found.add(subject))
  await hub.publish(subjects.claim('last'), Buffer.from('{}'), { after: 0 })
  await expect.poll(() => found.has(subjects.claim('last'))).toBe(true)
  await reader.close()
  expect(found.size).toBe(2)
})
