import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UIEvent } from '@chirality/core'
import { openSessionLog, type SessionHost } from '@chirality/sessions'
import { expect, test } from 'vitest'
import { git, twoMachines } from './support/machines.ts'

const isLong = process.env.CHIRALITY_TEST_ALL !== undefined

type World = Awaited<ReturnType<typeof twoMachines>>

/** A session with a turn that ended, and one that is at work. */
async function work(host: SessionHost, project: string): Promise<string> {
  const { id } = await host.createSession(project, { title: 'birds', budgetUsd: 3 })
  await append(host, id, 't1', [
    { type: 'turn:start', sessionId: id, message: 'Note the heron.' },
    { type: 'turn:end', sessionId: id, reason: 'completed' },
  ])
  return id
}

async function append(host: SessionHost, id: string, turnId: string, events: UIEvent[]): Promise<void> {
  const { projectRoot } = await host.store.resume(id)
  const log = await openSessionLog(projectRoot, id)
  for (const event of events) log.append(event, { turnId })
  await log.flush()
  await host.store.update(id, { lastSeq: log.lastSeq })
  await log.close()
}

const call = (sessionId: string, command: string): UIEvent => ({
  ...{ type: 'tool:start', sessionId, toolUseId: command, name: 'Bash', input: { command } },
})

async function texts(host: SessionHost, id: string): Promise<string[]> {
  const { log } = await host.session(id)
  return log.readAfter(0, 1_000).flatMap(({ event }) => (event.type === 'status' ? [event.message] : []))
}

async function owners({ one, two }: World, id: string): Promise<boolean[]> {
  const found = await Promise.all([one, two].map(({ host }) => host.store.get(id)))
  return found.map(session => session !== undefined)
}

test('another machine goes on with the last copy and the mirrored log, and names what it lacks; the old one is refused when it returns', async () => {
  const world = await twoMachines()
  const { one, two, takeovers, copied, mirrored, goes, returns } = world
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
  await expect((await one.host.session(id)).start('Too late.', {})).rejects.toMatchObject({ code: 'busy' })
  await takeovers().finish()
  expect(await owners(world, id)).toEqual([false, true])
  const told = (await texts(two.host, id)).at(-1) ?? ''
  const [, log = '', ref = ''] =
    /^one is back\. .* kept there in (.*) and its files in (.*);/.exec(told) ?? []
  expect(readFileSync(log, 'utf8')).toContain('make heron')
  expect(git(one.project, 'show', `${ref}/work:bird.txt`)).toBe('pelican\n')
  expect(readFileSync(join(one.project, 'bird.txt'), 'utf8')).toBe('pelican\n')
  // Once.
  await takeovers().finish()
  expect((await texts(two.host, id)).at(-1)).toBe(told)
})

test('a takeover that its hub did not finish is finished or taken back, and the machine that returns knows which', async () => {
  const world = await twoMachines()
  const { one, two, takeovers, copied, goes, returns, cut, sent } = world
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
      await returns('one')
      await takeovers().finish()
      const [isHere, isThere] = await owners(world, id)
      expect([step, when, isHere !== isThere]).toEqual([step, when, true])
      const host = isHere ? one.host : two.host
      // Whoever has it can use it.
      await expect(host.renameSession(id, 'still here')).resolves.toBeDefined()
    }
  }
})

test('a session without a copy, and one whose machine answers after all, are not taken over', async () => {
  const { one, two, takeovers, copied, mirrored, goes, returns, owners: stored } = await twoMachines()
  const id = await work(one.host, one.project)
  await mirrored(id, 'one')
  goes('one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/No copy/)
  await returns('one')
  await copied(id, 'one')
  goes('one')
  // Back in the moment in which the session is given away.
  const { give } = stored
  const late = takeovers()
  const proto = Object.getPrototypeOf(stored) as { give: typeof give }
  proto.give = async function (this: typeof stored, ...args) {
    const given = await give.apply(this, args)
    if (args[2] === 'two') await returns('one')
    return given
  }
  try {
    await expect(late.takeover(id, 'two')).rejects.toThrow(/is back. Move/)
  } finally {
    proto.give = give
  }
  await returns('one')
  expect(await stored.read(id)).toMatchObject({ machine: 'one' })
  await expect(one.host.renameSession(id, 'still here')).resolves.toBeDefined()
  expect(await two.host.store.get(id)).toBeUndefined()
})

test('a move whose target does not come back is given up, and the target is refused if it does', async () => {
  const world = await twoMachines()
  const { one, two, hub, takeovers, goes, returns, cut, mirrored } = world
  const id = await work(one.host, one.project)
  await expect(hub().keep(id, 'one')).rejects.toThrow(/not being moved/)
  // Cut after the target opened it.
  cut(count => (count >= 7 ? 'before' : undefined))
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(await owners(world, id)).toEqual([true, true])
  goes('two')
  await expect((await one.host.session(id)).start('Now?', {})).rejects.toThrow(/fleet keep/)
  expect(await hub().keep(id, 'one')).toEqual({ session: id, machine: 'one', gaveUp: 'two' })
  await mirrored(id, 'one')
  await takeovers().expect(id, { from: 'two', to: 'one', taken: { seq: 0, usd: 0, tokens: 0 } })
  await expect(one.host.renameSession(id, 'mine')).resolves.toBeDefined()
  expect(await returns('two')).toEqual([id])
  await takeovers().finish()
  expect(await owners(world, id)).toEqual([true, false])

  // A target that is there answers, and nothing is given up.
  const next = await work(one.host, one.project)
  cut(count => (count >= 7 ? 'before' : undefined))
  await expect(hub().move(next, 'one', 'two')).rejects.toThrow()
  cut(() => undefined)
  expect(await hub().keep(next, 'one')).toEqual({ session: next, machine: 'two', gaveUp: null })
  expect(await owners(world, next)).toEqual([false, true])
  expect(existsSync(join(two.project, '.chirality', 'events', `${next}.ndjson`))).toBe(true)
})
