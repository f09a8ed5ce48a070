import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RemoteSession } from '@chirality/centre'
import type { UIEvent } from '@chirality/core'
import { openSessionLog, type SessionHost } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { CopyChoice } from '../src/move/copy-choice.ts'
import { MoveDesk } from '../src/move/move-desk.ts'
import { append, git, twoMachines, work } from './support/machines.ts'

const isLong = process.env.CHIRALITY_TEST_ALL !== undefined

type World = Awaited<ReturnType<typeof twoMachines>>

const call = (sessionId: string, command: string): UIEvent => ({
  type: 'tool:start',
  sessionId,
  toolUseId: command,
  name: 'Bash',
  input: { command },
})

async function texts(host: SessionHost, id: string): Promise<string[]> {
  const { log } = await host.session(id)
  return log.readAfter(0, 1_000).flatMap(({ event }) => (event.type === 'status' ? [event.message] : []))
}

async function owners({ one, two }: World, id: string): Promise<boolean[]> {
  const found = await Promise.all([one, two].map(({ host }) => host.store.get(id)))
  return found.map(session => session !== undefined)
}

const NO = async () => {}

test('another machine goes on with the last copy and the mirrored log, and names what it lacks; the old one is refused when it returns', async () => {
  const world = await twoMachines()
  const { one, two, hub, takeovers, copied, mirrored, goes, returns } = world
  const id = await work(one.host, one.project)
  writeFileSync(join(one.project, 'bird.txt'), 'heron\n')
  await copied(id, 'one')
  await append(one.host, id, 't2', [
    { type: 'turn:start', sessionId: id, message: 'Now the pelican.' },
    call(id, 'make pelican'),
  ])
  await mirrored(id, 'one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/is there. Move/)
  goes('one')
  await expect(takeovers().takeover(id, 'one')).rejects.toThrow(/name another/)
  expect(await takeovers().takeover(id, 'two')).toMatchObject({ from: 'one', to: 'two', asked: false })

  const session = await two.host.store.resume(id)
  expect(session).toMatchObject({ title: 'birds', settings: { budgetUsd: 3 }, status: 'idle' })
  const { folder } = await two.host.worktrees.get(session.worktree ?? '')
  expect(readFileSync(join(folder, 'bird.txt'), 'utf8')).toBe('heron\n')
  const [words] = await texts(two.host, id)
  expect(words).toMatch(/^Taken over by two, because one is gone\. .*may not be here: Bash make pelican\./)
  const notes = (await (await two.host.session(id)).untold()).join('\n')
  expect(notes).toContain('Now the pelican.')
  expect(notes).not.toContain('Note the heron.')

  // It did more behind a cut wire, and its files are another matter, too.
  await append(one.host, id, 't2', [call(id, 'make heron')])
  writeFileSync(join(one.project, 'bird.txt'), 'pelican\n')
  expect(await returns('one')).toEqual([id])
  const late = (await one.host.session(id)).start('Too late.', {})
  await expect(late).rejects.toMatchObject({ code: 'busy', message: expect.stringMatching(/two took this/) })
  await expect(hub().keep(id, 'one', NO)).rejects.toThrow('two has this session now')
  await takeovers().finish()
  expect(await owners(world, id)).toEqual([false, true])
  const told = (await texts(two.host, id)).at(-1) ?? ''
  const [, log = '', ref = ''] =
    /^one is back\. .* kept there in (.*) and its files in (.*) and were not merged/.exec(told) ?? []
  expect(readFileSync(log, 'utf8')).toContain('make heron')
  expect(git(one.project, 'show', `${ref}/work:bird.txt`)).toBe('pelican\n')
  expect(readFileSync(join(one.project, 'bird.txt'), 'utf8')).toBe('pelican\n')
  // Once.
  await takeovers().finish()
  expect((await texts(two.host, id)).at(-1)).toBe(told)
})

test('a takeover that its hub did not finish is finished or taken back, and the machine that returns knows which', async () => {
  const world = await twoMachines()
  const { one, two, takeovers, copied, goes, returns, beat, cut, sent } = world
  const first = await work(one.host, one.project)
  await copied(first, 'one')
  goes('one')
  cut(() => undefined)
  await takeovers().takeover(first, 'two')
  const steps = sent()
  expect(steps).toBeGreaterThan(5)
  for (let step = 1; step <= steps; step += 1) {
    // Before a message is nearly the same as after the one before it.
    for (const when of isLong || step === 1 ? (['before', 'after'] as const) : (['after'] as const)) {
      await returns('one')
      await takeovers().finish()
      const id = await work(one.host, one.project)
      await copied(id, 'one')
      goes('one')
      cut(count => (count === step ? when : count > step ? 'before' : undefined))
      const isTaken = await takeovers()
        .takeover(id, 'two')
        .then(
          () => true,
          () => false,
        )
      expect([step, when, isTaken]).toEqual([step, when, false])
      cut(() => undefined)
      // The old machine returns before the hub does.
      await returns('one')
      await takeovers().finish()
      await beat('one')
      await takeovers().finish()
      const [isHere, isThere] = await owners(world, id)
      expect([step, when, isHere !== isThere]).toEqual([step, when, true])
      const host = isHere ? one.host : two.host
      // The machine that has the session can use it.
      await expect(host.renameSession(id, 'still here')).resolves.toBeDefined()
    }
  }
})

test('a session without a copy, and one whose machine answers after all, are not taken over', async () => {
  const world = await twoMachines()
  const { one, two, takeovers, copied, mirrored, goes, returns, beat, owners: stored, root } = world
  const id = await work(one.host, one.project)
  await mirrored(id, 'one')
  goes('one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/No copy/)
  await returns('one')
  await copied(id, 'one')
  goes('one')
  // Events that the copy has are still on their way from the broker.
  const late = join(root, 'late')
  mkdirSync(late)
  const behind = takeovers({ log: session => openSessionLog(late, session) })
  await expect(behind.takeover(id, 'two')).rejects.toThrow(/0 of 2 events/)
  // Back in the moment in which the session is given away.
  const { give } = stored
  const hub = takeovers()
  const proto = Object.getPrototypeOf(stored) as { give: typeof give }
  proto.give = async function (this: typeof stored, ...args) {
    const given = await give.apply(this, args)
    if (args[1] === 'two') await returns('one')
    return given
  }
  try {
    await expect(hub.takeover(id, 'two')).rejects.toThrow(/is back. Move/)
  } finally {
    proto.give = give
  }
  await beat('one')
  expect(await stored.read(id)).toMatchObject({ machine: 'one' })
  await expect(one.host.renameSession(id, 'still here')).resolves.toBeDefined()
  expect(await two.host.store.get(id)).toBeUndefined()
})

test('a move whose target does not come back is given up, and the target is refused if it does', async () => {
  const world = await twoMachines()
  const { one, two, hub, takeovers, goes, returns, cut, mirrored } = world
  const id = await work(one.host, one.project)
  await expect(hub().keep(id, 'one', NO)).rejects.toThrow(/not being moved/)
  // Cut after the target opened it.
  cut(count => (count >= 8 ? 'before' : undefined))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(await owners(world, id)).toEqual([true, true])
  goes('two')
  await expect((await one.host.session(id)).start('Now?', {})).rejects.toThrow(/fleet keep/)
  expect(await hub().keep(id, 'one', NO)).toEqual({ session: id, machine: 'one', gaveUp: 'two' })
  await mirrored(id, 'one')
  await takeovers().expect(id, { from: 'two', to: 'one', taken: { seq: 0, usd: 0, tokens: 0 } })
  await expect(one.host.renameSession(id, 'mine')).resolves.toBeDefined()
  expect(await returns('two')).toEqual([id])
  await takeovers().finish()
  expect(await owners(world, id)).toEqual([true, false])

  // A hub that was off meanwhile expects the target still: the session was moved there since.
  await takeovers().expect(id, { from: 'two', to: 'one', taken: { seq: 0, usd: 0, tokens: 0 } })
  await hub().move(id, 'one', 'two')
  await takeovers().finish()
  expect(await owners(world, id)).toEqual([false, true])

  // A target that is there answers, and nothing is given up.
  const next = await work(one.host, one.project)
  cut(count => (count >= 8 ? 'before' : undefined))
  await expect(hub().move(next, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(await hub().keep(next, 'one', NO)).toEqual({ session: next, machine: 'two', gaveUp: null })
  expect(await owners(world, next)).toEqual([false, true])
  expect(existsSync(join(two.project, '.chirality', 'events', `${next}.ndjson`))).toBe(true)
})

test('a takeover that was cut short gives nothing back that a later one took', async () => {
  const world = await twoMachines()
  const { one, two, takeovers, copied, goes, owners: stored, root } = world
  const id = await work(one.host, one.project)
  await copied(id, 'one')
  goes('one')
  const folder = join(root, 'takeovers')
  mkdirSync(folder)
  const noted = (move: string) => {
    const taken = { seq: 2, usd: 0, tokens: 0 }
    const text = JSON.stringify({ move, session: id, from: 'one', to: 'two', taken, isDone: false })
    writeFileSync(join(folder, `${move}.json`), text)
  }
  // It was given, and neither opened nor taken back.
  await stored.give(id, 'two', { move: 'takeover-first', seen: undefined })
  noted('takeover-first')
  await takeovers().takeover(id, 'two')
  expect(readdirSync(folder).filter(name => name === 'takeover-first.json')).toEqual([])
  const owner = await stored.read(id)
  expect(owner).toMatchObject({ machine: 'two' })
  expect((await two.host.store.resume(id)).worktree).toBe(owner?.move)
  // A note of another hub.
  noted('takeover-other')
  await takeovers().finish()
  expect(await stored.read(id)).toEqual(owner)
})

test('a machine that was given a session and is gone before it has it does not keep it', async () => {
  const world = await twoMachines()
  const { one, hub, takeovers, copied, goes, returns, cut, owners: stored } = world
  const [taken, refused, moved] = [
    await work(one.host, one.project),
    await work(one.host, one.project),
    await work(one.host, one.project),
  ]
  await copied(taken, 'one')
  goes('one')
  for (const id of [taken, refused])
    await stored.give(id, 'ghost', { move: 'takeover-ghost', seen: undefined })
  expect(await takeovers().takeover(taken, 'two')).toMatchObject({ to: 'two' })
  expect(await stored.read(taken)).toMatchObject({ machine: 'two' })

  expect(await returns('one')).toContain(refused)
  await expect(one.host.renameSession(refused, 'mine')).rejects.toMatchObject({ code: 'busy' })
  expect(await hub().keep(refused, 'one', NO)).toEqual({ session: refused, machine: 'one', gaveUp: 'ghost' })
  await expect(one.host.renameSession(refused, 'mine')).resolves.toBeDefined()

  // Its hub is killed after it was given to the target of a move, and before the old machine gave it up.
  cut(count => (count >= 8 ? 'before' : undefined))
  await expect(hub().move(moved, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(await stored.read(moved)).toMatchObject({ machine: 'two' })
  goes('two')
  expect(await hub().keep(moved, 'two', NO)).toEqual({ session: moved, machine: 'one', gaveUp: 'two' })
  await expect(one.host.renameSession(moved, 'mine')).resolves.toBeDefined()
})

test('when not all fit, the copies of the sessions used last stay, and the others are not fetched again', async () => {
  const { one, copiesOf, cut, sent } = await twoMachines()
  const remote = async (updatedAt: string): Promise<RemoteSession> => {
    const session = await one.host.store.resume(await work(one.host, one.project))
    return { machine: 'one', session: { ...session, updatedAt }, status: null }
  }
  const old = await remote('2026-01-01T00:00:00.000Z')
  const sessions = [old]
  const options = { sessions: () => sessions, limits: { copies: 1, bytes: 1e9 } }
  const copies = copiesOf(options)
  await copies.soon()
  expect(await copies.get('one', old.session.id)).toBeDefined()
  const next = await remote('2026-01-02T00:00:00.000Z')
  sessions.push(next)
  await copies.soon()
  const restarted = copiesOf(options)
  cut(() => undefined)
  for (const hub of [copies, restarted]) {
    for (let time = 0; time < 3; time += 1) await hub.soon()
    expect(await hub.get('one', next.session.id)).toBeDefined()
    expect(await hub.get('one', old.session.id)).toBeUndefined()
  }
  expect(sent()).toBe(0)
})

test('no copy is fetched or kept of a machine that sends none, and its sessions are not taken over', async () => {
  const { one, copied, copies, mirrored, goes, sendsCopies, takeovers, cut, sent } = await twoMachines()
  const id = await work(one.host, one.project)
  await copied(id, 'one')
  expect(await copies.get('one', id)).toBeDefined()
  sendsCopies('one', false)
  await copies.soon()
  expect(await copies.get('one', id)).toBeUndefined()
  await append(one.host, id, 't2', [{ type: 'turn:start', sessionId: id, message: 'Now the pelican.' }])
  await mirrored(id, 'one')
  cut(() => undefined)
  await copies.soon()
  expect(sent()).toBe(0)
  goes('one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/one sends no copies of its sessions/)
})

test('no copy of the machine before is taken or kept for a session of a machine that sends none', async () => {
  const { one, root, copiesOf, sendsCopies } = await twoMachines()
  const id = await work(one.host, one.project)
  const session = await one.host.store.resume(id)
  let machine = 'one'
  const copies = copiesOf({ sessions: () => [{ machine, session, status: null }] })
  await copies.soon()
  const kept = () => readdirSync(join(root, 'few-copies', 'one'))
  expect(kept().sort()).toEqual([`${id}.json`, `${id}.parcel`])
  // It was moved.
  machine = 'two'
  expect(await copies.get('two', id)).toBeDefined()
  sendsCopies('two', false)
  expect(await copies.get('two', id)).toBeUndefined()
  await copies.soon()
  expect(kept()).toEqual([])
})

test('a hub that asks a machine for a copy which sends none is refused', async () => {
  const { one } = await twoMachines()
  const id = await work(one.host, one.project)
  const desk = new MoveDesk({
    host: one.host,
    machine: 'one',
    folder: join(one.project, '..', 'parcels'),
    tell: async () => {},
    onLeft: () => {},
    owner: async () => undefined,
    sendsCopies: () => false,
  })
  await expect(
    desk.answer({ step: 'copy', session: id, move: 'copy-0123456789ab', clones: [] }),
  ).rejects.toThrow('one sends no copies of its sessions.')
})

test('the choice whether copies are sent is kept, and a damaged file sends none', async () => {
  const { root } = await twoMachines()
  const file = join(root, 'copies.json')
  const choice = new CopyChoice(file, false)
  expect(choice.sends).toBe(true)
  await choice.choose(false)
  expect([choice.sends, new CopyChoice(file, false).sends]).toEqual([false, false])
  await choice.choose(true)
  expect(new CopyChoice(file, false).sends).toBe(true)
  const fixed = new CopyChoice(file, true)
  expect(fixed.sends).toBe(false)
  await expect(fixed.choose(true)).rejects.toThrow(/--no-copies/)
  writeFileSync(file, '{"send":')
  expect(new CopyChoice(file, false).sends).toBe(false)
})

test('a hub that is killed when it asks the agent to go on says so when it is back, once', async () => {
  const { one, two, takeovers, copied, goes, returns, link } = await twoMachines()
  const id = await work(one.host, one.project)
  await copied(id, 'one')
  goes('one')
  const wire = link()
  await new Promise<void>(asked => {
    const request: typeof wire.request = (subject, body, ms) => {
      if (!Buffer.from(body).toString().includes('turns.start')) return wire.request(subject, body, ms)
      asked()
      return new Promise<never>(() => {})
    }
    const killed = { ...wire, connected: true, request } as typeof wire
    void takeovers({ link: () => killed, running: new Set() }).takeover(id, 'two', { goOn: true })
  })
  await takeovers().finish()
  await takeovers().finish()
  const said = async () => (await texts(two.host, id)).filter(text => text.includes('hub was stopped'))
  expect(await said()).toHaveLength(1)

  // One that asked says nothing.
  await returns('one')
  const next = await work(one.host, one.project)
  await copied(next, 'one')
  goes('one')
  expect(await takeovers().takeover(next, 'two', { goOn: true })).toMatchObject({ asked: true })
  await takeovers().finish()
  expect((await texts(two.host, next)).filter(text => text.includes('hub was stopped'))).toEqual([])
})

test('brokers that lost their disks are told again which machine took a session over', async () => {
  const world = await twoMachines()
  const { one, takeovers, copied, goes, returns, cut, sent, loseBrokers, owners: stored } = world
  const [done, cutShort] = [await work(one.host, one.project), await work(one.host, one.project)]
  for (const id of [done, cutShort]) await copied(id, 'one')
  goes('one')
  cut(() => undefined)
  await takeovers().takeover(done, 'two')
  // The last message but one opens it.
  const opened = sent() - 1
  cut(count => (count > opened ? 'before' : undefined))
  await expect(takeovers().takeover(cutShort, 'two')).rejects.toThrow(/killed/)
  cut(() => undefined)
  loseBrokers()
  expect(await returns('one')).toEqual([])
  await takeovers().finish()
  for (const id of [done, cutShort]) expect(await stored.read(id)).toMatchObject({ machine: 'two' })
  await takeovers().finish()
  for (const id of [done, cutShort]) expect(await owners(world, id)).toEqual([false, true])
})

test('a machine that gives a session up says the same of it when it is asked again', async () => {
  const { one } = await twoMachines()
  const id = await work(one.host, one.project)
  const move = { id: 'takeover-lost', from: 'one', to: 'two' }
  const taken = { seq: 1, usd: 0, tokens: 0 }
  const said = await one.host.moves.orphan(id, move, taken)
  expect(said).toMatchObject({ events: 1 })
  expect(await one.host.moves.orphan(id, move, taken)).toEqual(said)
})
