import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { twoMachines, work } from './support/machines.ts'

const run = (command: string, ...args: string[]) => execFileSync(command, args)

// Only root may mount a small disk.
const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.runIf(canMount)('a machine whose disk is full refuses a session, and nothing is given up', async () => {
  const { one, two, hub, takeovers, copied, goes, returns, root, owners } = await twoMachines()
  writeFileSync(
    join(one.project, 'noise.bin'),
    Buffer.from(Array.from({ length: 400_000 }, () => Math.random() * 256)),
  )
  const id = await work(one.host, one.project)
  const disk = join(root, 'two-home', 'parcels')
  mkdirSync(disk, { recursive: true })
  run('mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', disk)
  let isMounted = true
  const unmount = () => {
    if (isMounted) run('umount', '--lazy', disk)
    isMounted = false
  }
  onTestFinished(unmount)
  const words = 'The disk of two is full. Make room there, then try again.'
  await expect(hub().move(id, 'one', 'two')).rejects.toThrow(words)
  expect(one.host.moves.leaving(id)).toBeUndefined()
  await copied(id, 'one')
  goes('one')
  await expect(takeovers().takeover(id, 'two')).rejects.toThrow(words)
  expect(await owners.read(id)).toBeUndefined()
  expect(readdirSync(disk).map(move => readdirSync(join(disk, move)))).toEqual([['cancelled'], ['cancelled']])
  unmount()
  expect(await takeovers().takeover(id, 'two')).toMatchObject({ to: 'two' })
  expect(await two.host.store.get(id)).toBeDefined()
  await returns('one')
})
