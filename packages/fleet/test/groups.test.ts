import { copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CodedError, isCodedError } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Claims } from '../src/claim/claims.ts'
import { type GroupStore, WorkGroups } from '../src/claim/groups.ts'
import type { Machine } from '../src/machines.ts'
import { WorkBoard } from '../src/work/work-board.ts'
import { type Craft, WorkDesk } from '../src/work/work-desk.ts'
import { folder } from './support/fleet.ts'

/** The broker: subjects with compare-and-set, one sequence over all, and a purge. */
class Broker implements GroupStore {
  readonly messages = new Map<string, { seq: number; body: Uint8Array }[]>()
  #seq = 0

  async last(_: 'claims', subject: string) {
    return this.messages.get(subject)?.at(-1)
  }

  async publish(subject: string, body: Uint8Array, { after }: { after: number }) {
    const stored = this.messages.get(subject) ?? []
    if (after !== (stored.at(-1)?.seq ?? 0)) return { kind: 'conflict' } as const
    this.#seq += 1
    this.messages.set(subject, [...stored, { seq: this.#seq, body }])
    return { kind: 'stored' } as const
  }

  async subjectsOf() {
    return [...this.messages.keys()]
  }

  async purge(_: 'claims', subject: string, upTo: number) {
    const rest = (this.messages.get(subject) ?? []).filter(({ seq }) => seq > upTo)
    if (rest.length === 0) this.messages.delete(subject)
    else this.messages.set(subject, rest)
  }

  claims(): string[] {
    return [...this.messages.keys()].filter(subject => !subject.includes('.OPEN_'))
  }
}

/** The broker as one process has it: the process is killed before or after one of its requests. */
class Handle implements GroupStore {
  readonly #broker: Broker
  readonly #end = new AbortController()
  #left: number

  constructor(broker: Broker, left: number) {
    this.#broker = broker
    this.#left = left
  }

  async #live<T>(request: () => Promise<T>): Promise<T> {
    this.#count()
    const answer = await request()
    this.#count()
    return answer
  }

  #count(): void {
    this.#left -= 1
    if (this.#left < 0) this.#end.abort()
    if (this.isDead) throw new Error('killed')
  }

  get isDead(): boolean {
    return this.#end.signal.aborted
  }

  get signal(): AbortSignal {
    return this.#end.signal
  }

  last = (kind: 'claims', subject: string) => this.#live(() => this.#broker.last(kind, subject))
  publish = (subject: string, body: Uint8Array, options: { after: number }) =>
    this.#live(() => this.#broker.publish(subject, body, options))
  subjectsOf = () => this.#live(() => this.#broker.subjectsOf())
  purge = (kind: 'claims', subject: string, upTo: number) =>
    this.#live(() => this.#broker.purge(kind, subject, upTo))
}

/** A machine that ends its work at the second question. What it has is on its disk. */
class Worker {
  readonly name: string
  readonly #folder = folder()
  /** How often it was asked for each. What was given up or is stored elsewhere is not on it any more. */
  readonly #disk = new Map<string, number>()
  readonly #broker: Broker
  readonly #begun: Map<string, number>
  isHere = true
  desk: WorkDesk

  constructor(name: string, broker: Broker, begun: Map<string, number>) {
    this.name = name
    this.#broker = broker
    this.#begun = begun
    this.desk = this.restart()
  }

  restart(): WorkDesk {
    const craft: Craft = {
      advance: async order => {
        const id = String(order)
        if (!this.#disk.has(id)) this.#begun.set(id, (this.#begun.get(id) ?? 0) + 1)
        const asked = (this.#disk.get(id) ?? 0) + 1
        this.#disk.set(id, asked)
        return { state: asked > 1 ? 'ended' : 'working' }
      },
      stop: async () => ({ state: 'ended' }),
      drop: async order => void this.#disk.delete(String(order)),
      tidy: async order => void this.#disk.delete(String(order)),
    }
    const claims = new Claims(this.#broker, this.name)
    this.desk = new WorkDesk({ machine: this.name, folder: this.#folder, claims, craft })
    return this.desk
  }

  notes(): string[] {
    return readdirSync(this.#folder)
  }
}

interface Killed {
  kills: number[]
  isDown: boolean
}

interface LoopFiles {
  hasEnded: boolean
  tasks: { name: string; isOver: boolean }[]
}

/** A hub, whose disk outlives its processes, can be set back to an earlier day, and can lose what is known of the groups. */
class Hub {
  readonly #broker = new Broker()
  readonly #begun = new Map<string, number>()
  readonly #file = join(folder(), 'groups.json')
  readonly workers = ['a', 'b'].map(name => new Worker(name, this.#broker, this.#begun))
  #loops: Record<string, LoopFiles> = {}
  #kept: Record<string, LoopFiles> | undefined
  #names = 0
  #store = new Handle(this.#broker, Number.POSITIVE_INFINITY)
  #groups = this.#open()

  get broker(): Broker {
    return this.#broker
  }

  begun(): number[] {
    return [...this.#begun.values()]
  }

  #open(): WorkGroups {
    return new WorkGroups({ own: 'hub', file: this.#file, store: () => this.#store })
  }

  /** Killed by the request with this number, it begins again; as often as there are numbers. `isDown`: it stays killed. */
  async process({ kills, isDown }: Killed, work: () => Promise<void>): Promise<void> {
    for (const left of [...kills, ...(isDown ? [] : [Number.POSITIVE_INFINITY])]) {
      this.#store = new Handle(this.#broker, left)
      this.#groups = this.#open()
      try {
        for (const { group } of this.#groups.list())
          if (this.#loops[group]?.hasEnded ?? true) await this.#groups.end(group)
        await this.#groups.finish()
        await work()
        if (!this.#store.isDead) return
      } catch (error) {
        if (!this.#store.isDead) throw error
      }
    }
  }

  /** A task of a loop, the one that was begun and not ended, or the next. One that has ended is resumed. */
  async work(name: string): Promise<void> {
    this.#loops[name] ??= { hasEnded: false, tasks: [] }
    const loop = this.#loops[name]
    loop.hasEnded = false
    let task = loop.tasks.find(({ isOver }) => !isOver)
    if (task === undefined) {
      this.#names += 1
      task = { name: `${name}-${this.#names}`, isOver: false }
      loop.tasks.push(task)
    }
    const store = this.#store
    const board = new WorkBoard({
      own: 'hub',
      store: () => store,
      goneMs: 0,
      pollMs: 0,
      machines: () => this.#seen(),
      ask: async (machine, step) => {
        const worker = this.workers.find(one => one.name === machine)
        if (!worker?.isHere) throw new CodedError('machine-away', 'away')
        return worker.desk.answer(step)
      },
    })
    const { name: id } = task
    const groups = this.#groups
    try {
      const { kind } = await board.run(
        {
          id,
          order: id,
          needs: { agent: 'agent', project: '/shop', labels: ['build'] },
          group: () => groups.open(name, '/shop'),
          carry: async () => {},
          fetch: async () => {},
          isHere: async () => false,
        },
        { signal: store.signal, isLeft: () => store.isDead },
      )
      if (kind === 'left' || store.isDead) throw new Error('killed')
    } catch (error) {
      // Groups that were open on an earlier day.
      if (!isCodedError(error) || error.code !== 'work-stale') throw error
    }
    task.isOver = true
  }

  async end(name: string): Promise<void> {
    const loop = this.#loops[name]
    if (loop === undefined || loop.tasks.some(({ isOver }) => !isOver)) return
    loop.hasEnded = true
    await this.#groups.end(name)
    await this.#groups.finish()
  }

  keepDisk(): void {
    // A loop whose first task has no group yet would begin with it anew.
    const known = new Set(this.#groups.list().map(({ group }) => group))
    const isKnown = ([name, { tasks }]: [string, LoopFiles]) => known.has(name) || tasks.every(t => t.isOver)
    if (!Object.entries(this.#loops).every(isKnown)) return
    this.#kept = structuredClone(this.#loops)
    rmSync(`${this.#file}.kept`, { force: true })
    if (existsSync(this.#file)) copyFileSync(this.#file, `${this.#file}.kept`)
  }

  setBack(): void {
    if (this.#kept === undefined) return
    this.#loops = structuredClone(this.#kept)
    rmSync(this.#file, { force: true })
    if (existsSync(`${this.#file}.kept`)) copyFileSync(`${this.#file}.kept`, this.#file)
  }

  /** `damaged`: the machine lost its power before the file was whole. */
  loseFile(isDamaged: boolean): void {
    if (isDamaged) writeFileSync(this.#file, '[{"group":"li')
    else rmSync(this.#file, { force: true })
  }

  /** All loops end, and all machines come back. */
  async endAll(): Promise<void> {
    for (const worker of this.workers) worker.isHere = true
    await this.process({ kills: [], isDown: false }, async () => {
      for (const [name, { tasks }] of Object.entries(this.#loops)) {
        while (tasks.some(({ isOver }) => !isOver)) await this.work(name)
        await this.end(name)
      }
    })
    // The next process ends the groups that this one took from the broker.
    await this.process({ kills: [], isDown: false }, async () => {})
    for (const worker of this.workers) await worker.restart().look()
  }

  /** Both machines begin anew. The second one is cut off, or back. */
  async lookAgain(isBack: boolean): Promise<void> {
    const [first, second] = this.workers
    await first?.restart().look()
    if (second !== undefined) second.isHere = isBack
    if (isBack) await second?.restart().look()
  }

  #seen(): Machine[] {
    return [{ name: 'hub', isHere: true }, ...this.workers].map(({ name, isHere }) => ({
      machine: name,
      isThis: name === 'hub',
      role: 'worker',
      version: '',
      hasKey: null,
      key: null,
      state: isHere ? 'here' : 'away',
      labels: name === 'hub' ? [] : ['build'],
      slots: 8,
      busy: 0,
      load: 0,
      heardSecondsAgo: 0,
      projects: [],
      copies: true,
      agents: [{ id: 'agent', name: 'agent', installed: true, loggedIn: true, version: null }],
      repositories: [{ root: '/shop', key: 'shop' }],
    }))
  }
}

const loop = fc.constantFrom('list-a1', 'list-a1-b2', 'other-c3')
/** The number of a request, before or after which the hub is killed; more than once, also while it begins again. */
const kills = fc.array(fc.nat({ max: 24 }), { maxLength: 3 })
const isDown = fc.boolean()
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('work' as const), loop, kills, isDown }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), loop, kills, isDown }) },
  fc.record({
    kind: fc.constantFrom('leave' as const, 'return' as const, 'keep' as const, 'set-back' as const),
  }),
  fc.record({ kind: fc.constant('lose' as const), isDamaged: fc.boolean() }),
)

const NEVER = { kills: [], isDown: false }
/** A disk on which a task was begun is put back after its loop was over. */
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
const SET_BACK: Step[] = [
  { kind: 'work', loop: 'list-a1', kills: [12], isDown: true },
  { kind: 'keep' },
  { kind: 'work', loop: 'list-a1', ...NEVER },
  { kind: 'end', loop: 'list-a1', ...NEVER },
  { kind: 'return' },
  { kind: 'set-back' },
  { kind: 'work', loop: 'list-a1', ...NEVER },
]

/** The hub is killed while a machine is at work, and its next process finds no file. */
const LOST: Step[] = [
  { kind: 'work', loop: 'list-a1', kills: [14], isDown: true },
  { kind: 'lose', isDamaged: false },
  { kind: 'work', loop: 'other-c3', ...NEVER },
  { kind: 'return' },
  { kind: 'work', loop: 'list-a1', ...NEVER },
]

describe('the claims of a group that is over', () => {
  test('are purged, and yet nothing is done twice, wherever the hub is killed, set back or loses its file, and whoever returns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async steps => {
        const hub = new Hub()
        for (const one of steps) {
          if (one.kind === 'work') await hub.process(one, () => hub.work(one.loop))
          else if (one.kind === 'end') await hub.process(one, () => hub.end(one.loop))
          else if (one.kind === 'keep') hub.keepDisk()
          else if (one.kind === 'set-back') hub.setBack()
          else if (one.kind === 'lose') hub.loseFile(one.isDamaged)
          else await hub.lookAgain(one.kind === 'return')
          expect(hub.begun().every(times => times === 1)).toBe(true)
        }
        await hub.endAll()
        expect(hub.begun().every(times => times === 1)).toBe(true)
        expect(hub.broker.claims()).toEqual([])
        expect(hub.workers.map(worker => worker.notes())).toEqual([[], []])
      }),
      { numRuns: 300, examples: [[SET_BACK], [LOST]] },
    )
  })
})
