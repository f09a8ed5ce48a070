import { readdirSync } from 'node:fs'
import { CodedError } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ClaimStore, Claims } from '../src/claim/claims.ts'
import type { Link } from '../src/engine/link.ts'
import type { Machine } from '../src/machines.ts'
import { askMove } from '../src/rpc/calls.ts'
import type { MoveStep, WorkState } from '../src/rpc/protocol.ts'
import { type BoardWork, WorkBoard, type WorkEnd } from '../src/work/work-board.ts'
import { type Craft, WorkDesk } from '../src/work/work-desk.ts'
import { folder } from './support/fleet.ts'

/** The broker: one subject for each piece of work, with compare-and-set. */
class Register implements ClaimStore {
  readonly messages = new Map<string, Uint8Array[]>()

  async last(_: 'claims', subject: string) {
    const stored = this.messages.get(subject) ?? []
    const body = stored.at(-1)
    return body && { seq: stored.length, body }
  }

  async publish(subject: string, body: Uint8Array, { after }: { after: number }) {
    const stored = this.messages.get(subject) ?? []
    if (after !== stored.length) return { kind: 'conflict' } as const
    this.messages.set(subject, [...stored, body])
    return { kind: 'stored' } as const
  }
}

type Fault = 'work' | 'cut' | 'lose-answer' | 'restart' | 'gone' | 'refuse'

/** A machine whose work takes a few questions. What it did is on its disk, which outlives it. */
class TestMachine {
  readonly name: string
  readonly disk = new Map<string, { asked: number; ended: boolean; dropped: boolean }>()
  readonly #register: Register
  readonly #folder = folder()
  state: Machine['state'] = 'here'
  /** How many reads of the leader fail. */
  failingReads = 0
  stop: () => Promise<WorkState> = async () => ({ state: 'ended' })
  desk: WorkDesk

  constructor(name: string, register: Register) {
    this.name = name
    this.#register = register
    this.desk = this.restart()
  }

  restart(): WorkDesk {
    const craft: Craft = {
      advance: async order => {
        const id = String(order)
        const known = this.disk.get(id) ?? { asked: 0, ended: false, dropped: false }
        this.disk.set(id, known)
        known.asked += 1
        if (known.asked >= 3) known.ended = true
        return known.ended ? { state: 'ended' } : { state: 'working' }
      },
      stop: () => this.stop(),
      drop: async order => {
        const known = this.disk.get(String(order))
        if (known !== undefined) known.dropped = true
      },
      tidy: async () => {},
    }
    const claims = new Claims(this.#register, this.name)
    const read = async (id: string) => {
      this.failingReads -= 1
      if (this.failingReads >= 0) throw new Error('no leader')
      return claims.read(id)
    }
    const isOver = claims.isOver.bind(claims)
    this.desk = new WorkDesk({ machine: this.name, folder: this.#folder, claims: { read, isOver }, craft })
    return this.desk
  }

  notes(): string[] {
    return readdirSync(this.#folder)
  }
}

const GROUP = { hub: 'hub', list: 'list', group: 'group', number: 1 }
const AWAY = new CodedError('machine-away', 'away')

function fleetOf(names: string[], fault: (machine: TestMachine) => Fault, goneMs = 0) {
  const register = new Register()
  const machines = names.map(name => new TestMachine(name, register))
  const seen = () =>
    ['hub', ...names].map(name => {
      const machine = machines.find(one => one.name === name)
      return {
        machine: name,
        isThis: name === 'hub',
        role: 'worker',
        version: '',
        hasKey: null,
        key: null,
        state: machine?.state ?? 'here',
        labels: machine === undefined ? [] : ['build'],
        slots: 8,
        busy: 0,
        load: 0,
        heardSecondsAgo: 0,
        projects: [],
        copies: true,
        agents: [{ id: 'agent', name: 'agent', installed: true, loggedIn: true, version: null }],
        repositories: [{ root: '/shop', key: 'shop' }],
      } satisfies Machine
    })
  const board = new WorkBoard({
    own: 'hub',
    machines: seen,
    store: () => register,
    goneMs,
    pollMs: 0,
    ask: async (name, step) => {
      const machine = machines.find(one => one.name === name)
      if (machine === undefined || machine.state !== 'here') throw AWAY
      const happens = fault(machine)
      if (happens === 'cut') throw AWAY
      if (happens === 'gone') {
        machine.state = 'away'
        throw AWAY
      }
      if (happens === 'refuse') throw new CodedError('work-failed', `${name} has no room`)
      if (happens === 'restart') machine.restart()
      const answer = await machine.desk.answer(step)
      if (happens === 'lose-answer') throw new CodedError('machine-silent', 'silent')
      return answer
    },
  })
  const carried: string[] = []
  const fetched: string[] = []
  const waits: string[] = []
  const run = (
    id: string,
    labels = ['build'],
    signal = new AbortController().signal,
    own: Partial<BoardWork> = {},
  ): Promise<WorkEnd> =>
    board.run(
      {
        id,
        needs: { agent: 'agent', project: '/shop', labels },
        order: id,
        group: async () => GROUP,
        carry: async machine => void carried.push(machine),
        fetch: async machine => void fetched.push(machine),
        isHere: async () => false,
        ...own,
      },
      { signal, isLeft: () => false, onWaits: why => waits.push(why) },
    )
  const never = new AbortController().signal
  const carry = (id: string, own: Partial<BoardWork>) => run(id, ['build'], never, own)
  const claimOf = (id: string) => new Claims(register, 'hub').read(id)
  return { register, machines, board, run, carry, carried, fetched, waits, claimOf }
}

describe('work of a fleet', () => {
  test('is ended by one machine, once, whatever is cut, lost or killed; a machine that returns is refused', async () => {
    const fault = fc.constantFrom<Fault>('work', 'work', 'work', 'cut', 'lose-answer', 'restart', 'gone')
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 30 }), async faults => {
        const { machines, run, register } = fleetOf(['a', 'b', 'c'], machine => {
          // One machine stays, or nothing could be done at all.
          const next = faults.shift() ?? 'work'
          return next === 'gone' && machine.name === 'a' ? 'cut' : next
        })
        const ids = ['one', 'two', 'three']
        const ends = await Promise.all(
          ids.map(async id => {
            const attempts: string[] = []
            // Lost work starts again under another name, as in a loop.
            for (let n = 1; ; n += 1) {
              const name = `${id}-${n}`
              attempts.push(name)
              const end = await run(name)
              if (end.kind === 'ended') return { ...end, name, attempts }
              expect(end.kind).toBe('lost')
            }
          }),
        )
        for (const machine of machines) {
          machine.state = 'here'
          await machine.restart().look()
          expect(machine.notes()).toEqual([])
        }
        for (const { name, machine, attempts } of ends) {
          const owner = machines.find(one => one.name === machine)
          expect(owner?.disk.get(name)).toMatchObject({ ended: true, dropped: false })
          expect(machines.filter(one => one.disk.has(name))).toHaveLength(1)
          // Given-up work has the next epoch, and the machine that started it was told to drop it.
          for (const lost of attempts.slice(0, -1)) {
            const [first, second] = (register.messages.get(`chi.claim.${lost}`) ?? []).map(
              body => JSON.parse(Buffer.from(body).toString()) as object,
            )
            expect([first, second]).toMatchObject([{ epoch: 1 }, { epoch: 2, machine: 'hub' }])
            for (const one of machines)
              if (one.disk.has(lost)) expect(one.disk.get(lost)).toMatchObject({ dropped: true })
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('continues where it is when its hub was killed, and is not placed again', async () => {
    const { machines, run, register } = fleetOf(['a', 'b'], () => 'work')
    const [a, b] = machines
    await new Claims(register, 'b').step('task-1', { kind: 'take' })
    expect(await run('task-1')).toEqual({ kind: 'ended', machine: 'b' })
    expect([a?.disk.size, b?.disk.size]).toEqual([0, 1])
    expect(await run('task-1')).toEqual({ kind: 'ended', machine: 'b' })
    expect(b?.disk.get('task-1')?.asked).toBe(3)
  })

  test('is spread over the machines although their beats say nothing of it yet, and waits with the reason', async () => {
    const { run, carried } = fleetOf(['a', 'b'], () => 'work')
    await Promise.all(['one', 'two', 'three', 'four'].map(id => run(id)))
    expect(carried.filter(name => name === 'a')).toHaveLength(2)
    const stop = new AbortController()
    const waiting = run('five', ['gpu'], stop.signal)
    stop.abort()
    expect(await waiting).toEqual({ kind: 'left' })
    expect(await run('six', [])).toMatchObject({ kind: expect.stringMatching(/here|ended/) })
  })

  test('waits for as many tasks as a loop has without a word of a leak', async () => {
    const { run } = fleetOf(['a'], () => 'work')
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    const stop = new AbortController()
    const waiting = Array.from({ length: 30 }, (_, index) => run(`task-${index}`, ['gpu'], stop.signal))
    await new Promise(resolve => setImmediate(resolve))
    stop.abort()
    await Promise.all(waiting)
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })

  test('is closed when its hub was killed after fetching the result: its machine forgets it, and nobody starts it again', async () => {
    const { machines, board, register, run, claimOf } = fleetOf(['a'], () => 'work')
    const [a] = machines
    const ours = () => false
    expect(await board.close('never-given', ours)).toBe('none')
    await new Claims(register, 'a').step('task-1', { kind: 'take' })
    await a?.desk.answer({ step: 'do', id: 'task-1', epoch: 1, order: 'task-1' })
    await a?.desk.look()
    expect(a?.notes()).toEqual(['task-1.json'])
    expect(await board.close('task-1', () => true)).toBe('left')

    // The broker is away at first, and loses an acknowledgement.
    const faults = vi.spyOn(register, 'last').mockRejectedValueOnce(new Error('no leader'))
    const publish = register.publish.bind(register)
    vi.spyOn(register, 'publish').mockImplementationOnce(async (...args) => {
      await publish(...args)
      throw new Error('no acknowledgement')
    })
    expect(await board.close('task-1', ours)).toBe('closed')
    expect(faults).toHaveBeenCalled()
    expect(await claimOf('task-1')).toEqual({ machine: 'hub', epoch: 2, done: true })
    await a?.desk.look()
    expect(a?.notes()).toEqual([])
    expect(await board.close('task-1', ours)).toBe('closed')
    expect(await run('task-1')).toEqual({ kind: 'ended', machine: 'hub' })
    expect(a?.disk.get('task-1')?.asked).toBe(1)
  })

  test('comes back from a machine that refuses it, and goes to the next one that fits; refused by all it can be tried again', async () => {
    const faults: Fault[] = ['refuse']
    const { run, carried, fetched, claimOf } = fleetOf(['a', 'b'], () => faults.shift() ?? 'work')
    const end = await run('one')
    const [first, second] = carried
    expect([first, second].sort()).toEqual(['a', 'b'])
    expect(end).toEqual({ kind: 'ended', machine: second })
    expect(fetched).toEqual(carried)
    expect(await claimOf('one')).toEqual({ machine: second, epoch: 2, done: true, of: GROUP })

    const all = fleetOf(['a', 'b'], () => 'refuse')
    expect(await all.run('two')).toMatchObject({ kind: 'refused', why: expect.stringContaining('no room') })
    expect(all.fetched).toEqual(all.carried)
    expect(all.fetched).toHaveLength(2)
    expect(await all.claimOf('two')).toEqual({ machine: 'hub', epoch: 3, done: false, of: GROUP })
    // The labels are not the hub's: it does not make the turn in their place.
    expect(await all.run('two')).toEqual({ kind: 'ended', machine: 'hub' })
    expect(await all.claimOf('two')).toMatchObject({ done: true })
  })

  test('is not given up when it is done and cannot be fetched at once, and that is reported', async () => {
    const { carry, waits, claimOf } = fleetOf(['a'], () => 'work')
    let tries = 0
    const fetch = async () => {
      tries += 1
      if (tries < 4) throw new CodedError('busy', 'A turn of this session runs.')
    }
    expect(await carry('one', { fetch })).toEqual({ kind: 'ended', machine: 'a' })
    expect(waits).toEqual(['waits: it is not back from a. A turn of this session runs.'])
    expect(await claimOf('one')).toEqual({ machine: 'a', epoch: 1, done: true, of: GROUP })
  })

  test('is carried as soon as the move of a killed process lets it go', async () => {
    const { carry, fetched } = fleetOf(['a'], () => 'work')
    let tries = 0
    const moved = async () => {
      tries += 1
      if (tries < 3) throw new CodedError('move-failed', 'This session is being moved already.')
    }
    expect(await carry('one', { carry: moved })).toEqual({ kind: 'ended', machine: 'a' })
    expect([tries, fetched]).toEqual([3, ['a']])
  })

  test('is not lost when its machine goes before it has anything of it', async () => {
    const { carry, machines, claimOf } = fleetOf(['a', 'b'], () => 'work')
    const moved: string[] = []
    const end = await carry('one', {
      carry: async name => {
        moved.push(name)
        const machine = machines.find(one => one.name === name)
        if (moved.length === 1 && machine !== undefined) machine.state = 'away'
        if (machine?.state === 'away') throw AWAY
      },
      isHere: async () => true,
    })
    expect(end).toEqual({ kind: 'ended', machine: moved.at(-1) })
    expect(new Set(moved).size).toBe(2)
    expect(await claimOf('one')).toMatchObject({ epoch: 2, done: true })
  })

  test('goes on where it is when the brokers lost all claims', async () => {
    let asked = 0
    let lose = () => {}
    const fleet = fleetOf(['a', 'b'], () => {
      asked += 1
      if (asked !== 2) return 'work'
      lose()
      return 'restart'
    })
    lose = () => fleet.register.messages.clear()
    const end = await fleet.run('one')
    expect(end).toEqual({ kind: 'ended', machine: fleet.carried[0] })
    expect(fleet.machines.filter(one => one.disk.has('one'))).toHaveLength(1)

    const [a] = fleet.machines
    await new Claims(fleet.register, 'a').step('two', { kind: 'take' })
    await a?.desk.answer({ step: 'do', id: 'two', epoch: 1, order: 'two' })
    fleet.register.messages.clear()
    await a?.desk.look()
    expect(a?.disk.get('two')).toMatchObject({ dropped: false })
  })

  test('a person can stop it although its machine says for ever that it is at work', async () => {
    const stop = new AbortController()
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const { run, machines } = fleetOf(['a'], () => {
      stop.abort()
      now += 30_000
      return 'work'
    })
    for (const machine of machines) machine.stop = async () => ({ state: 'working' })
    expect(await run('one', ['build'], stop.signal)).toEqual({ kind: 'left' })
  })

  test('a machine that cannot ask the leader whose the work is refuses nothing, and begins it when it can', async () => {
    const { run, machines, claimOf } = fleetOf(['a', 'b'], () => 'work')
    for (const machine of machines) machine.failingReads = 3
    const end = await run('one')
    expect(end).toMatchObject({ kind: 'ended' })
    expect(await claimOf('one')).toMatchObject({ epoch: 1, done: true })
  })

  test('a machine begins nothing that the leader does not say is its own', async () => {
    const { machines, register } = fleetOf(['a', 'b'], () => 'work')
    const [a, b] = machines
    const ask = (machine: TestMachine | undefined, epoch: number, id = 'work') =>
      Promise.resolve().then(() => machine?.desk.answer({ step: 'do', id, epoch, order: id }))
    await expect(ask(a, 1)).rejects.toMatchObject({ code: 'work-stale' })
    await new Claims(register, 'a').step('work', { kind: 'take' })
    await expect(ask(b, 1)).rejects.toMatchObject({ code: 'work-stale' })
    await expect(ask(a, 2)).rejects.toMatchObject({ code: 'work-stale' })
    for (const odd of ['../x', 'a.b', '*', '', 'x'.repeat(300)])
      await expect(ask(a, 1, odd)).rejects.toMatchObject({ code: 'work-stale' })
    expect(await ask(a, 1)).toEqual({ state: 'working' })
    // Followed by another machine while this one was cut off.
    await new Claims(register, 'b').step('work', { kind: 'take-over', epoch: 1 })
    await a?.desk.look()
    expect(a?.disk.get('work')).toMatchObject({ dropped: true })
    await expect(ask(a, 1)).rejects.toMatchObject({ code: 'work-stale' })
    expect(await ask(b, 2)).toEqual({ state: 'working' })
  })
})

test('a machine that packs a session cannot name the worktree that it gets elsewhere', async () => {
  const pack = (move: string) => {
    const body = Buffer.from(JSON.stringify({ ok: true, data: { move, size: 1, sha256: '' } }))
    const link = { connected: true, request: async () => ({ kind: 'answer', body }) } as unknown as Link
    const asked: MoveStep = { step: 'pack', session: 's', move: 'move-1', from: 'a', to: 'hub', haves: [] }
    return askMove(link, 'a', asked)
  }
  await expect(pack('tasks-1-one-ab12cd')).rejects.toMatchObject({ code: 'move-failed' })
  expect(await pack('move-1')).toMatchObject({ move: 'move-1' })
  expect(await pack('move-0123456789ab')).toMatchObject({ move: 'move-0123456789ab' })
})
