import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import type { SessionHarness, UIEvent } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { openSessionLog, SessionHost } from '@chirality/sessions'
import { Owners, Refusals } from '../../src/claim/owners.ts'
import type { Link } from '../../src/engine/link.ts'
import type { Machine } from '../../src/machines.ts'
import { Copies, type CopiesOptions } from '../../src/move/copies.ts'
import { MoveDesk } from '../../src/move/move-desk.ts'
import { Moves } from '../../src/move/moves.ts'
import { Takeovers, type TakeoversOptions } from '../../src/move/takeovers.ts'
import { answerCalls } from '../../src/rpc/calls.ts'
import { folder, later, NO_WORK } from './fleet.ts'

export const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd, encoding: 'utf8' })

type Fault = 'before' | 'after' | undefined
type Name = 'one' | 'two'

/** A repository, and clones of it in folders with these names. */
export function clonesOf(root: string, source: string, names: readonly string[]): string[] {
  const made = join(root, source, 'shop')
  mkdirSync(made, { recursive: true })
  git(made, 'init', '-q', '-b', 'main')
  writeFileSync(join(made, '.gitignore'), '.chirality\n')
  git(made, 'add', '.')
  git(made, 'commit', '-qm', 'first')
  const clones = names.map(name => join(root, name, 'shop'))
  for (const clone of clones) git(root, 'clone', '-q', made, clone)
  return [made, ...clones]
}

/** A machine with an open project. `answer`: it answers the steps of hubs, until the returned function is called. */
export async function machineOn(
  link: Link,
  { name, home, project }: Record<'name' | 'home' | 'project', string>,
) {
  const harnesses = new HarnessRegistry<SessionHarness>()
  const host = new SessionHost({ harnesses, address: '', home })
  later(() => host.close())
  await host.openProject(project)
  const answer = () => {
    // Like a server that is started again: one that ended packs nothing more.
    const moves = new MoveDesk({
      host,
      machine: name,
      folder: join(home, 'parcels'),
      tell: async () => {},
      onLeft: () => {},
      owner: id => new Owners(link).read(id),
      sendsCopies: () => true,
    })
    return answerCalls(link, name, {
      call: async () => undefined,
      bytes: () => Buffer.alloc(0),
      moves,
      work: NO_WORK,
      spent: () => {},
    })
  }
  return { host, project, refusals: new Refusals(name), answer }
}

/** A session with a turn that ended. */
export async function work(host: SessionHost, project: string): Promise<string> {
  const { id } = await host.createSession(project, { title: 'birds', budgetUsd: 3 })
  await append(host, id, 't1', [
    { type: 'turn:start', sessionId: id, message: 'Note the heron.' },
    { type: 'turn:end', sessionId: id, reason: 'completed' },
  ])
  return id
}

export async function append(
  host: SessionHost,
  id: string,
  turnId: string,
  events: UIEvent[],
): Promise<void> {
  const { projectRoot } = await host.store.resume(id)
  const log = await openSessionLog(projectRoot, id)
  for (const event of events) log.append(event, { turnId })
  await log.flush()
  await host.store.update(id, { lastSeq: log.lastSeq })
  await log.close()
}

/** A copy of a session's log, as the mirror of a hub has it. */
export function mirrorLog(mirror: string, { id, projectRoot }: { id: string; projectRoot: string }): void {
  cpSync(join(projectRoot, '.chirality', 'events'), join(mirror, '.chirality', 'events'), {
    recursive: true,
    filter: file => !file.endsWith('.ndjson') || file.includes(id),
  })
}

/**
 * Two machines with clones of one repository, a hub, and a wire between them that can be cut at a chosen message. Only
 * the broker is made up.
 */
export async function twoMachines() {
  const root = folder()
  const [source = '', clone = ''] = clonesOf(root, 'one', ['two'])
  const handlers = new Map<string, (body: Uint8Array) => Promise<Uint8Array>>()
  const stored = new Map<string, { seq: number; body: Uint8Array }>()
  const states = new Map<string, Machine['state']>([
    ['one', 'here'],
    ['two', 'here'],
  ])
  /** Machines that send copies; unnamed ones do. */
  const sends = new Map<Name, boolean>()
  let sent = 0
  let fault: (count: number) => Fault = () => undefined
  const faulty = async <T>(work: () => Promise<T> | T): Promise<T> => {
    sent += 1
    const cut = fault(sent)
    if (cut === 'before') throw new Error('the hub was killed')
    const answer = await work()
    if (cut === 'after') throw new Error('the hub was killed')
    return answer
  }
  const wire = {
    connected: true,
    serve: (subject: string, handler: (body: Uint8Array) => Promise<Uint8Array>) => {
      handlers.set(subject, handler)
      return () => {}
    },
    request: (subject: string, body: Uint8Array) =>
      faulty(async () => {
        const isGone = states.get(subject.split('.')[2] ?? '') === 'away'
        const answer = isGone ? undefined : await handlers.get(subject)?.(body)
        return answer === undefined ? { kind: 'absent' } : { kind: 'answer', body: answer }
      }),
    last: async (_kind: string, subject: string) => stored.get(subject),
    subjectsOf: async () => [],
    publish: (subject: string, body: Uint8Array, { after }: { after: number }) =>
      faulty(() => {
        if ((stored.get(subject)?.seq ?? 0) !== after) return { kind: 'conflict' }
        stored.set(subject, { seq: after + 1, body })
        return { kind: 'stored', seq: after + 1 }
      }),
  } as unknown as Link
  const machine = async (name: Name, project: string) => {
    const made = await machineOn(wire, { name, project, home: join(root, `${name}-home`) })
    made.answer()
    return made
  }
  const one = await machine('one', source)
  const two = await machine('two', clone)
  const own = { one, two }
  const machines = () =>
    [...states].map(([name, state]) => {
      const copies = sends.get(name as Name) ?? true
      return { state, agents: [], machine: name, copies } as unknown as Machine
    })
  const link = () => wire
  const running = new Set<string>()
  const hub = () => new Moves({ folder: join(root, 'moves'), link, machines, running })
  const remotes = new Map<string, RemoteSession>()
  const copies = new Copies({
    folder: join(root, 'copies'),
    link,
    machines,
    sessions: () => [...remotes.values()],
  })
  const mirror = join(root, 'mirror')
  mkdirSync(mirror)
  /** State and log of a session that the hub has heard so far. */
  const mirrored = async (id: string, name: Name) => {
    const session = await own[name].host.store.resume(id)
    remotes.set(id, { machine: name, session, status: null })
    mirrorLog(mirror, session)
  }
  const takeovers = (other: Partial<TakeoversOptions> = {}) =>
    new Takeovers({
      folder: join(root, 'takeovers'),
      link,
      machines,
      copies,
      running,
      log: id => openSessionLog(mirror, id),
      session: id => remotes.get(id),
      ...other,
    })
  /** It looks who has its sessions, as it does with each beat. */
  const beat = (name: Name) => own[name].refusals.look(own[name].host, () => new Owners(wire))
  return {
    root,
    beat,
    one,
    two,
    hub,
    takeovers,
    copies,
    mirrored,
    owners: new Owners(wire),
    sent: () => sent,
    link,
    machines,
    cut: (next: typeof fault) => {
      sent = 0
      fault = next
    },
    /** The brokers lose their disks. */
    loseBrokers: () => stored.clear(),
    /** Whether the hubs get copies of the sessions of a machine. */
    sendsCopies: (name: Name, send: boolean) => sends.set(name, send),
    goes: (name: Name) => states.set(name, 'away'),
    /** It looks who has all of its sessions, as it does when it is connected. */
    returns: async (name: Name) => {
      states.set(name, 'here')
      own[name].refusals.forget()
      return beat(name)
    },
    copiesOf: (options: Pick<CopiesOptions, 'sessions' | 'limits'>) =>
      new Copies({ folder: join(root, 'few-copies'), link, machines, ...options }),
    /** A copy of what the session is now is at the hub. */
    copied: async (id: string, name: Name) => {
      await mirrored(id, name)
      const { lastSeq } = await own[name].host.store.resume(id)
      for (let copy = await copies.get(name, id); copy?.seq !== lastSeq; copy = await copies.get(name, id)) {
        await copies.soon()
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
  }
}
