import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { MoveDesk } from '../src/move/move-desk.ts'
import { Notes } from '../src/move/notes.ts'
import { readParcel } from '../src/move/parcel-file.ts'
import { folder } from './support/fleet.ts'
import { git, twoMachines, work } from './support/machines.ts'

const isLong = process.env.CHIRALITY_TEST_ALL !== undefined

test('a move that its hub did not finish is finished or taken back: one machine has the session, with its files', async () => {
  const { one, two, hub, cut, sent } = await twoMachines()
  const file = join(one.project, 'bird.txt')
  const owners = async (id: string) => {
    const found = await Promise.all([one, two].map(({ host }) => host.store.get(id)))
    return found.map(session => session !== undefined)
  }
  writeFileSync(file, 'heron\n')
  const first = await one.host.createSession(one.project, { title: 'first' })
  cut(() => undefined)
  await hub().move(first.id, 'one', 'two')
  expect(await owners(first.id)).toEqual([false, true])
  const steps = sent()
  expect(steps).toBeGreaterThan(6)

  for (let step = 1; step <= steps; step += 1) {
    // Before a message is nearly the same as after the one before it.
    for (const when of isLong || step === 1 ? (['before', 'after'] as const) : (['after'] as const)) {
      const { id } = await one.host.createSession(one.project, { title: `cut ${when} ${step}` })
      // From this message on, the hub is dead.
      cut(count => (count === step ? when : count > step ? 'before' : undefined))
      const moved = await hub()
        .move(id, 'one', 'two')
        .then(
          () => true,
          () => false,
        )
      expect(moved).toBe(false)
      cut(() => undefined)
      await hub().finish()
      const [isHere, isThere] = await owners(id)
      expect([step, when, isHere !== isThere]).toEqual([step, when, true])
      // The machine that has the session can use it.
      const { host } = isHere ? one : two
      expect([step, when, host.moves.leaving(id)]).toEqual([step, when, undefined])
      if (isThere) {
        const { worktree } = await two.host.store.resume(id)
        const made = await two.host.worktrees.get(worktree ?? '')
        expect(readFileSync(join(made.folder, 'bird.txt'), 'utf8')).toBe('heron\n')
      } else if (isLong || step === 5) {
        // It can be moved again, and nothing of the first attempt is in the way.
        await hub().move(id, 'one', 'two')
        expect(await owners(id)).toEqual([false, true])
      }
    }
  }
  expect(readFileSync(file, 'utf8')).toBe('heron\n')
})

test('a session in no repository, and one whose repository the other machine lacks, stay where they are', async () => {
  const { one, two, hub } = await twoMachines()
  const plain = folder()
  const { id } = await one.host.createSession(plain, {})
  await expect(hub().move(id, 'one', 'two')).rejects.toMatchObject({ code: 'move-failed' })
  const { id: second } = await one.host.createSession(one.project, {})
  await two.host.closeProject(two.project)
  await expect(hub().move(second, 'one', 'two')).rejects.toThrow(/no clone of this repository/)
  await expect(hub().move(second, 'one', 'one')).rejects.toThrow(/already/)
  await expect(hub().move(second, 'one', 'three')).rejects.toThrow(/called three/)
  expect(await one.host.store.get(second)).toBeDefined()
})

test('a machine that has an old copy of the session refuses it, and the session stays where it is', async () => {
  const { one, two, hub } = await twoMachines()
  const { id } = await one.host.createSession(one.project, { title: 'twice' })
  await two.host.createSession(two.project, { id, title: 'an old copy' })
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow(/of this id already/)
  expect(await one.host.store.get(id)).toMatchObject({ title: 'twice' })
})

test('a machine that was killed before its last step finishes the session when it is asked again', async () => {
  const { one, two, hub, cut } = await twoMachines()
  writeFileSync(join(one.project, 'bird.txt'), 'heron\n')
  const { id } = await one.host.createSession(one.project, { title: 'cut', budgetUsd: 3 })
  const add = two.host.store.add
  two.host.store.add = () => Promise.reject(new Error('the disk is full'))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow(/full/)
  two.host.store.add = add
  cut(() => undefined)
  await hub().finish()
  expect(await one.host.store.get(id)).toBeUndefined()
  const session = await two.host.store.resume(id)
  expect(session).toMatchObject({ title: 'cut', settings: { budgetUsd: 3 } })
  const { folder: made } = await two.host.worktrees.get(session.worktree ?? '')
  expect(readFileSync(join(made, 'bird.txt'), 'utf8')).toBe('heron\n')
})

test('a move that was cut short is settled before another begins', async () => {
  const { one, two, hub, cut } = await twoMachines()
  const { id } = await one.host.createSession(one.project, { title: 'again' })
  cut(count => (count >= 5 ? 'before' : undefined))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  await expect(hub().move(id, 'one', 'three')).rejects.toThrow(/called three/)
  // Given up, so that it can be used.
  await expect(one.host.renameSession(id, 'still here')).resolves.toBeDefined()
  await hub().move(id, 'one', 'two')
  expect(await two.host.store.get(id)).toMatchObject({ title: 'still here' })
})

test('a session whose move was given up can be used, also if the hub was killed before it said so', async () => {
  const { one, hub, cut, goes, returns, owners } = await twoMachines()
  const { id } = await one.host.createSession(one.project, { title: 'kept' })
  // Cut after the target opened it.
  cut(count => (count >= 8 ? 'before' : undefined))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow()
  goes('two')
  // Cut after the session was given back to its machine.
  cut(count => (count >= 5 ? 'before' : undefined))
  const given: unknown[] = []
  const note = async (kept: object) => void given.push({ ...kept, owner: (await owners.read(id))?.machine })
  await expect(hub().keep(id, 'one', note)).rejects.toThrow(/killed/)
  // The target is asked for its part when it returns, whichever process is killed now.
  expect(given).toEqual([{ session: id, machine: 'one', gaveUp: 'two', owner: 'two' }])
  expect(await owners.read(id)).toMatchObject({ machine: 'one' })
  expect(one.host.moves.leaving(id)).toBeDefined()
  cut(() => undefined)
  await returns('two')
  await hub().finish()
  expect(one.host.moves.leaving(id)).toBeUndefined()
  await expect(one.host.renameSession(id, 'mine')).resolves.toBeDefined()
})

test('a move is not given up if a machine that answers got the session in another way', async () => {
  const { one, two, hub, cut, owners } = await twoMachines()
  const { id } = await one.host.createSession(one.project, { title: 'packed' })
  // Cut after it was packed.
  cut(count => (count >= 4 ? 'before' : undefined))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(one.host.moves.leaving(id)).toBeDefined()
  await two.host.createSession(two.project, { id, title: 'taken over' })
  await owners.give(id, 'two', { move: 'takeover-other', seen: undefined })
  await expect(hub().keep(id, 'one', NOTHING)).rejects.toThrow('two has this session now')
  expect(one.host.moves.leaving(id)).toBeDefined()
})

test('a note is finished once, not after it is gone, and a later one in its place stays', async () => {
  const schema = z.object({ move: z.string(), session: z.string() })
  const running = new Set<string>()
  const nameOf = ({ session }: z.infer<typeof schema>) => session
  const place = folder()
  const notes = new Notes({ folder: place, running, schema, nameOf, aboutOf: nameOf, againMs: 0 })
  const first = { move: 'move-1', session: 'a' }
  const other = { move: 'move-2', session: 'b' }
  await notes.write(first)
  await notes.write(other)
  const finished: string[] = []
  const finish = async ({ move }: typeof first) => {
    finished.push(move)
    // Both were listed by now.
    const [left] = finished.length === 1 ? notes.list().filter(note => note.move !== move) : []
    if (left !== undefined) notes.remove(left)
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all([notes.finishAll(finish), notes.finishAll(finish)])
  expect(finished).toHaveLength(1)

  await notes.write({ ...first, move: 'move-3' })
  notes.remove(first)
  expect(notes.of('a')).toEqual([{ ...first, move: 'move-3' }])
  notes.remove({ ...first, move: 'move-3' })
  expect(notes.of('a')).toEqual([])
})

test('the id of a move that another machine chose is no part of a ref or a path', async () => {
  const file = join(folder(), 'parcel')
  const odd = 'x/head 1\nupdate refs/heads/main 2\nupdate refs/chirality/kept/y'
  for (const id of [odd, '../../x', '']) {
    const header = { version: 1, move: { id, from: 'one', to: 'two' }, session: { id: 's' }, parts: [] }
    const commit = '1'.repeat(40)
    const work = { head: commit, files: 0, branch: 'b', base: commit, baseBranch: null, hasBundle: false }
    const queue = { messages: [] }
    writeFileSync(file, `${JSON.stringify({ ...header, work, queue, notes: [] })}\n`)
    await expect(readParcel(file, folder())).rejects.toThrow(/damaged/)
  }
})

test('a session goes into the clean one of two clones, says why, and comes back into the one that it left', async () => {
  const { one, two, hub, root } = await twoMachines()
  const other = join(root, 'two', 'other')
  git(root, 'clone', '-q', one.project, other)
  await two.host.openProject(other)
  const elsewhere = join(root, 'one', 'first')
  git(root, 'clone', '-q', one.project, elsewhere)
  writeFileSync(join(two.project, 'draft.txt'), 'not done\n')
  const id = await work(one.host, one.project)
  await hub().move(id, 'one', 'two')
  const place = async ({ host }: typeof one) => {
    const { worktree } = await host.store.resume(id)
    return (await host.worktrees.get(worktree ?? '')).repository
  }
  expect(await place(two)).toBe(other)
  const { log } = await two.host.session(id)
  const said = log
    .readAfter(0, 1_000)
    .flatMap(({ event }) => (event.type === 'status' ? [event.message] : []))
  expect(said).toContain(
    `On two the session is in a worktree of ${other}: the only one without uncommitted changes, of 2 clones.`,
  )
  await one.host.openProject(elsewhere)
  writeFileSync(join(one.project, 'draft.txt'), 'not done\n')
  await hub().move(id, 'two', 'one')
  expect(await place(one)).toBe(one.project)
})

test('a cancelled move removes no worktree in which another session works', async () => {
  const { one, two, hub } = await twoMachines()
  const { id } = await one.host.createSession(one.project, { title: 'moved' })
  await hub().move(id, 'one', 'two')
  const { worktree } = await two.host.store.resume(id)
  const desk = new MoveDesk({
    host: two.host,
    machine: 'two',
    folder: folder(),
    tell: async () => {},
    onLeft: () => {},
    owner: async () => undefined,
    sendsCopies: () => true,
  })
  const cancel = { step: 'cancel' as const, move: worktree ?? '', session: 'another-session' }
  await expect(desk.answer(cancel)).rejects.toThrow(/Another session works/)
  expect(await two.host.worktrees.find(worktree ?? '')).toBeDefined()
})

test('a machine that stops while it packs a copy or a session leaves no git, and the session can be used', async () => {
  const { one } = await twoMachines()
  const id = await work(one.host, one.project)
  writeFileSync(join(one.project, 'bird.txt'), 'heron\n')
  const parcels = folder()
  const desk = new MoveDesk({
    host: one.host,
    machine: 'one',
    folder: parcels,
    tell: async () => {},
    onLeft: () => {},
    owner: async () => undefined,
    sendsCopies: () => true,
  })
  const copy = (move: string) => desk.answer({ step: 'copy', session: id, move, clones: [] })
  expect(await copy('copy-000000000000')).toMatchObject({ size: expect.any(Number) })
  expect(readdirSync(join(parcels, 'copy-000000000000'))).toEqual(['parcel'])

  // A repository so large that git reads its files for longer than anybody waits.
  const bin = folder()
  const pidFile = join(bin, 'pid')
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const slow = `echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 1000`
  const script = `#!/bin/sh\ncase " $* " in *" add --all "*) ${slow};; esac\nexec ${real} "$@"\n`
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 })
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const cut = copy('copy-111111111111').catch((error: Error) => error.message)
  await expect.poll(() => existsSync(pidFile), { timeout: 60_000 }).toBe(true)
  const [index] = readdirSync(join(parcels, 'copy-111111111111'))
  expect(index).toMatch(/^index-/)

  await desk.close()
  expect(await cut).toBe('git add: stopped')
  expect(readdirSync(parcels)).toEqual(['copy-000000000000'])
  const pid = Number(readFileSync(pidFile, 'utf8'))
  // It was ended; the system needs a moment to remove it.
  await expect.poll(() => isAlive(pid), { timeout: 60_000 }).toBe(false)

  rmSync(pidFile)
  const mover = new MoveDesk({
    host: one.host,
    machine: 'one',
    folder: folder(),
    tell: async () => {},
    onLeft: () => {},
    owner: async () => undefined,
    sendsCopies: () => true,
  })
  const packed = mover
    .answer({ step: 'pack', session: id, move: 'move-000000000000', from: 'one', to: 'two', haves: [] })
    .catch((error: Error) => error.message)
  await expect.poll(() => existsSync(pidFile), { timeout: 60_000 }).toBe(true)
  expect(one.host.moves.leaving(id)).toMatchObject({ to: 'two' })
  await mover.close()
  expect(await packed).toBe('git add: stopped')
  expect(one.host.moves.leaving(id)).toBeUndefined()
  const packing = Number(readFileSync(pidFile, 'utf8'))
  await expect.poll(() => isAlive(packing), { timeout: 60_000 }).toBe(false)

  // One that was killed has no time for that: the next start removes what it left.
  new MoveDesk({
    host: one.host,
    machine: 'one',
    folder: parcels,
    tell: async () => {},
    onLeft: () => {},
    owner: async () => undefined,
    sendsCopies: () => true,
  })
  expect(readdirSync(parcels)).toEqual([])
})

const NOTHING = async () => {}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
