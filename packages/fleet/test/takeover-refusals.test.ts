import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folder } from './support/fleet.ts'
import { append, git, twoMachines, work } from './support/machines.ts'

/** Leftovers of parcels on a machine, by move. */
function parcels(root: string, name: 'one' | 'two'): Record<string, string[]> {
  const place = join(root, `${name}-home`, 'parcels')
  return Object.fromEntries(readdirSync(place).map(move => [move, readdirSync(join(place, move))]))
}

test('a takeover without a copy says why none came', async () => {
  const { one, takeovers, copies, mirrored, goes, cut } = await twoMachines()
  const plain = await work(one.host, folder())
  const nested = await work(one.host, one.project)
  mkdirSync(join(one.project, 'inner'))
  git(join(one.project, 'inner'), 'init', '-q')
  git(join(one.project, 'inner'), 'commit', '-q', '--allow-empty', '-m', 'inner')
  for (const id of [plain, nested]) await mirrored(id, 'one')
  // One at a time of each machine.
  for (let time = 0; time < 2; time += 1) await copies.soon()
  const lost = await work(one.host, one.project)
  await mirrored(lost, 'one')
  cut(() => 'before')
  await copies.soon()
  cut(() => undefined)
  goes('one')
  await expect(takeovers().takeover(plain, 'two')).rejects.toThrow(
    /No copy of the session arrived .* The last try said: .* in no git repository with a commit/,
  )
  // One full stop, whether the reason came with one or not.
  for (const id of [plain, nested, lost])
    await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/[^.\s]\. Its mirrored log can be read/)
  await expect(takeovers().takeover(lost, 'two')).rejects.toThrow('said: the hub was killed. Its mirrored')
  await expect(takeovers().takeover(nested, 'two')).rejects.toThrow(/contains another repository: inner/)
})

test('pieces that a killed hub sent to the new machine are removed there when the hub is back', async () => {
  const { one, two, takeovers, copied, goes, cut, root, owners } = await twoMachines()
  writeFileSync(join(one.project, 'bird.txt'), 'heron\n')
  const id = await work(one.host, one.project)
  await copied(id, 'one')
  goes('one')
  // One request asks whether it is gone, one for the clone; the third is the first piece.
  cut(count => (count === 3 ? 'after' : count > 3 ? 'before' : undefined))
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/killed/)
  expect(Object.values(parcels(root, 'two'))).toEqual([['parcel']])
  cut(() => undefined)
  await takeovers().finish()
  expect(Object.values(parcels(root, 'two'))).toEqual([['cancelled']])
  expect(await owners.read(id)).toBeUndefined()
  expect(await takeovers().takeover(id, 'two')).toMatchObject({ to: 'two' })
  expect(await two.host.store.get(id)).toBeDefined()
})

test('a session whose worktree was removed by hand is neither moved nor copied, and says how to restore it', async () => {
  const { one, hub, copies, mirrored, takeovers, goes } = await twoMachines()
  const { worktree } = await one.host.worktrees.make({ projectRoot: one.project, title: 'birds' })
  const { id } = await one.host.createSession(one.project, { worktree: { id: worktree.id } })
  await append(one.host, id, 't1', [{ type: 'turn:start', sessionId: id, message: 'Note the heron.' }])
  rmSync(worktree.folder, { recursive: true })
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow(/chirality worktrees restore/)
  expect(one.host.moves.leaving(id)).toBeUndefined()
  await mirrored(id, 'one')
  await copies.soon()
  goes('one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(/chirality worktrees restore/)
})
