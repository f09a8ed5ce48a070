import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findProjectOwner, lockProject, ProjectLockedError } from '../../src/lock/project-lock.ts'
import { type Bundle, bundle } from '../support/bundle.ts'
import { range } from '../support/events.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
const lock = (address = 'http://127.0.0.1:1') => lockProject(project.root, { address })

describe('in one process', () => {
  test('the second is refused, with the address of the first', async () => {
    const first = await lock('http://127.0.0.1:4001')
    const error: unknown = await lock('http://127.0.0.1:4002').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ProjectLockedError)
    expect(error).toMatchObject({
      owner: { address: 'http://127.0.0.1:4001', pid: process.pid },
      message: expect.stringContaining('http://127.0.0.1:4001'),
    })
    expect(await findProjectOwner(project.root)).toMatchObject({ address: 'http://127.0.0.1:4001' })
    await first.release()
  })

  test('a released project is free', async () => {
    await (await lock()).release()
    expect(await findProjectOwner(project.root)).toBeUndefined()
    const next = await lock()
    await next.release()
    await next.release()
    expect(readdirSync(project.file('lock'))).toEqual(['2.json'])
  })

  test('a project that was never locked has no owner', async () => {
    expect(await findProjectOwner(project.root)).toBeUndefined()
    expect(readdirSync(project.root)).toEqual([])
  })

  test('one project is one project, whichever way leads to it', async () => {
    symlinkSync(project.root, join(project.root, 'link'))
    const first = await lock()
    await expect(lockProject(join(project.root, 'link/.'), { address: 'x' })).rejects.toThrow(
      ProjectLockedError,
    )
    await first.release()
  })

  test('a path too long for a socket is no obstacle', async () => {
    const root = join(project.root, 'd'.repeat(120))
    mkdirSync(root)
    const first = await lockProject(root, { address: 'a' })
    await expect(lockProject(root, { address: 'b' })).rejects.toThrow(ProjectLockedError)
    await first.release()
    await (await lockProject(root, { address: 'b' })).release()
  })

  test('an unreadable lock file does not lock the project', async () => {
    mkdirSync(project.file('lock'), { recursive: true })
    writeFileSync(project.file('lock', '7.json'), '{"pid":')
    const held = await lock()
    expect(readdirSync(project.file('lock'))).toContain('8.json')
    await held.release()
  })

  test('a lock file with the highest possible number causes an error instead of an endless retry', async () => {
    mkdirSync(project.file('lock'), { recursive: true })
    writeFileSync(project.file('lock', '999999999999999.json'), '{}')
    await expect(lock()).rejects.toMatchObject({ code: 'unsafe' })
  })

  test('a pid that now belongs to another process is dead', async () => {
    const held = await lock()
    const record = JSON.parse(readFileSync(project.file('lock', '1.json'), 'utf8'))
    await held.release()
    const stale = { ...record, startedAt: 'long ago', socket: project.file('lock', 'gone.sock') }
    writeFileSync(project.file('lock', '1.json'), JSON.stringify(stale))
    const next = await lock()
    await next.release()
  })

  test('a lock that was deleted is put back', async () => {
    const first = await lock('a')
    rmSync(project.file(), { recursive: true })
    expect(await first.check()).toBe(true)
    await expect(lock('b')).rejects.toMatchObject({ owner: { address: 'a' } })
    await first.release()
  })

  test('a project whose folder is away for a moment stays ours', async () => {
    const root = join(project.root, 'moved')
    mkdirSync(root)
    const lost: unknown[] = []
    const held = await lockProject(root, { address: 'a', onLost: owner => lost.push(owner) })
    renameSync(root, `${root}-away`)
    expect(await held.check()).toBe(true)
    renameSync(`${root}-away`, root)
    expect(await held.check()).toBe(true)
    expect(lost).toEqual([])
    await expect(lockProject(root, { address: 'b' })).rejects.toMatchObject({ owner: { address: 'a' } })
    await held.release()
    await (await lockProject(root, { address: 'b' })).release()
  })

  test('a lock that this very process left behind does not lock it out', async () => {
    const held = await lock('a')
    const text = readFileSync(project.file('lock', '1.json'), 'utf8')
    await held.release()
    writeFileSync(project.file('lock', '1.json'), text)
    await (await lock('b')).release()
  })

  test.each(['port', '99999', '-1', '', '/dev/null', 'unix', 'javascript:alert(1)'])(
    'a lock that a clone brought, with the socket %s, holds nobody up',
    async kind => {
      const server = createServer(socket => socket.destroy())
      const listening = kind === 'unix' ? join(project.root, 'any.sock') : 0
      await new Promise<void>(resolve => server.listen(listening, () => resolve()))
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? String(address.port) : ''
      const socket = kind === 'port' ? port : kind === 'unix' ? join(project.root, 'any.sock') : kind
      mkdirSync(project.file('lock'), { recursive: true })
      const record = { pid: 1, address: 'http://evil', since: '', startedAt: '', boot: '', socket }
      writeFileSync(project.file('lock', '3.json'), JSON.stringify(record))
      try {
        expect(await findProjectOwner(project.root)).toBeUndefined()
        await (await lock()).release()
      } finally {
        server.close()
      }
    },
  )

  test('and if another was faster, the first is told', async () => {
    const lost: unknown[] = []
    const first = await lockProject(project.root, { address: 'a', onLost: owner => lost.push(owner) })
    rmSync(project.file(), { recursive: true })
    const second = await lock('b')
    expect(await first.check()).toBe(false)
    expect(lost).toMatchObject([{ address: 'b' }])
    await first.release()
    expect(await findProjectOwner(project.root)).toMatchObject({ address: 'b' })
    await second.release()
  })
})

describe('among processes', () => {
  const program = fileURLToPath(new URL('../programs/take-lock.mjs', import.meta.url))
  let built: Bundle
  let children: ChildProcessWithoutNullStreams[] = []
  beforeAll(async () => {
    built = await bundle('src/lock/project-lock.ts')
  })
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    children = []
  })
  afterAll(() => built.remove())

  /** Resolves when it is ready to try; `attempt` lets it. */
  async function contender(address: string) {
    const child = spawn(process.execPath, [program, built.file, project.root, address])
    children.push(child)
    const lines = lineReader(child)
    expect(await lines()).toBe('ready')
    const attempt = () => {
      child.stdin.write('go\n')
      return lines()
    }
    const kill = () =>
      new Promise(resolve => {
        child.on('exit', resolve)
        child.kill('SIGKILL')
      })
    return { attempt, kill }
  }

  test('of 20 processes that start together one gets the lock, and the others get its address', async () => {
    const contenders = await Promise.all(range(1, 20).map(n => contender(`address-${n}`)))
    const results = await Promise.all(contenders.map(({ attempt }) => attempt()))
    const winner = results.indexOf('won') + 1
    expect(results.filter(result => result !== 'won')).toEqual(
      Array(19).fill(`refused ProjectLockedError address-${winner}`),
    )
  })

  test('when the owner is killed, one of 20 takes over', async () => {
    const first = await contender('first')
    expect(await first.attempt()).toBe('won')
    const contenders = await Promise.all(range(1, 20).map(n => contender(`address-${n}`)))
    await first.kill()
    const results = await Promise.all(contenders.map(({ attempt }) => attempt()))
    expect(results.filter(result => result === 'won')).toHaveLength(1)
    const sockets = readdirSync(project.file('lock')).filter(name => name.endsWith('.sock'))
    expect(sockets).toHaveLength(1)
  })

  test('an owner that cannot open files for a while stays the owner', async () => {
    const run = 'ulimit -n 64; exec "$@"'
    const withoutFiles = fileURLToPath(new URL('../programs/lock-without-files.mjs', import.meta.url))
    const args = ['-c', run, 'run', process.execPath, withoutFiles, built.file, project.root]
    const { stdout } = await promisify(execFile)('bash', args)
    expect(JSON.parse(stdout)).toEqual({
      during: true,
      after: true,
      lost: false,
      address: 'here',
      owner: null,
    })
  })
})

function lineReader(child: ChildProcessWithoutNullStreams): () => Promise<string> {
  const iterator = (async function* lines() {
    let rest = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      const parts = (rest + chunk).split('\n')
      rest = parts.pop() ?? ''
      yield* parts
    }
    throw new Error('the program ended')
  })()
  return async () => (await iterator.next()).value ?? ''
}
