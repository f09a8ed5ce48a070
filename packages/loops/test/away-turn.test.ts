import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { expect, onTestFinished, test } from 'vitest'
import type { Stamped } from '../src/journal.ts'
import { LoopBook } from '../src/loop-book.ts'
import type { AwayEnd, AwayTurn } from '../src/loop-context.ts'
import { InstantAgent } from './support/instant-agent.ts'

/** A hub with a loop of one task that is for other machines. These are made up: what they do is done here. */
/** Last reported cost of a session on a machine that is gone. */
const LOST = { usd: 0.5, isEstimate: false, tokens: 700 }

async function hub() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-away-')))
  const project = path.join(folder, 'project')
  mkdirSync(project)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], {
      cwd: project,
      encoding: 'utf8',
    })
  const list = path.join(project, 'TASKS.md')
  writeFileSync(list, '- [ ] One\n  where: build\n  checks: ls ./*.txt\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'First')
  const harnesses = new HarnessRegistry<SessionHarness>()
  let turns = 0
  harnesses.register(
    new InstantAgent({
      asked: async () => {
        turns += 1
      },
    }),
  )
  const host = new SessionHost({ harnesses, address: 'test', home: path.join(folder, 'home') })
  onTestFinished(async () => {
    await host.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const book = new LoopBook(project, path.join(folder, 'home'))
  const entries: Stamped[] = []
  const closed: string[] = []
  const ended: string[] = []
  const withRun = (run: (turn: AwayTurn) => Promise<AwayEnd>, given: string[] = []) => ({
    away: {
      machineOf: () => undefined,
      spentOn: () => LOST,
      run,
      groups: () => [],
      end: async (group: string) => void ended.push(group),
      close: async (id: string) => {
        closed.push(id)
        return given.includes(id) ? ('closed' as const) : ('none' as const)
      },
    },
    onEntry: (entry: Stamped) => void entries.push(entry),
  })
  return {
    book,
    host,
    list,
    project,
    entries,
    folder,
    git,
    turns: () => turns,
    withRun,
    closed,
    ended,
    /** Its turn is made, in the worktree that it has. */
    makeTurn: async ({ sessionId, order }: AwayTurn) => {
      const live = await host.session(sessionId)
      await live.start(order.message, { timeoutMs: order.request.timeoutMs })
      await expect.poll(() => live.status.phase).toBe('idle')
    },
    /** The session leaves this machine, and comes back with the function. */
    leave: async (sessionId: string, name = `move-${randomBytes(6).toString('hex')}`) => {
      const { worktree } = await host.store.resume(sessionId)
      const parcels = mkdtempSync(path.join(folder, 'parcel-'))
      const move = { id: name, from: 'hub', to: 'worker' }
      const haves = [git('rev-parse', 'HEAD').trim()]
      const parcel = await host.moves.pack(sessionId, { move, haves, folder: parcels })
      const log = path.join(parcels, 'log')
      copyFileSync(parcel.log, log)
      await host.moves.leave(sessionId, move.id)
      const before = await host.worktrees.get(worktree ?? '')
      return {
        comesBack: (into = project) => host.moves.receive(into, { ...parcel, log }),
        /** Changes of the turn are only in the returned session. */
        clean: () => {
          for (const name of readdirSync(before.folder))
            if (name.endsWith('.txt')) rmSync(path.join(before.folder, name))
        },
      }
    },
  }
}

const LIMIT = { timeout: 120_000 }

test(
  'the files of a turn that came back before the hub was killed are those that are checked, and the turn is closed',
  LIMIT,
  async () => {
    const { book, host, list, withRun, makeTurn, leave, turns, closed, ended } = await hub()
    const given: string[] = []
    const loop = await book.start(
      host,
      list,
      withRun(async turn => {
        given.push(turn.id)
        await makeTurn(turn)
        const left = await leave(turn.sessionId)
        left.clean()
        await left.comesBack()
        // It is killed: nothing more is written down.
        loop.suspend('leave')
        return { kind: 'left' }
      }),
    )
    await loop.run()
    // Another process goes on with it.
    expect(ended).toEqual([])
    const again = await book.resume(
      host,
      loop.state.loopId,
      withRun(async () => {
        throw new Error('no turn is to be made')
      }, given),
    )
    await again.run()
    expect([...again.state.tasks.values()]).toMatchObject([{ status: 'merged', iterations: 1 }])
    expect(turns()).toBe(1)
    // Also the name that it would have had if no machine had made it the first time.
    expect(closed).toEqual([given[0], `${given[0]}-2`])
    expect(ended).toEqual([loop.state.loopId])
    expect(given[0]?.startsWith(`${loop.state.loopId}-`)).toBe(true)
  },
)

test(
  'a machine that says that it made a turn and made none is not believed, and the hub does not make it',
  LIMIT,
  async () => {
    const { book, host, list, withRun, turns } = await hub()
    const names: string[] = []
    const loop = await book.start(
      host,
      list,
      withRun(async ({ id }) => {
        names.push(id)
        return { kind: 'ended', machine: 'worker' }
      }),
    )
    await loop.run()
    expect([...loop.state.tasks.values()]).toMatchObject([
      { status: 'parked', why: expect.stringContaining('none of them ran it') },
    ])
    expect(new Set(names).size).toBe(names.length)
    expect(turns()).toBe(0)
  },
)

test('a session that is on a machine that is gone is begun anew under another id', LIMIT, async () => {
  const { book, host, list, withRun, leave, entries } = await hub()
  const sessions: string[] = []
  const loop = await book.start(
    host,
    list,
    withRun(async ({ sessionId }) => {
      sessions.push(sessionId)
      // It was given up by a hub that was killed before it wrote that down.
      if (sessions.length === 1) await leave(sessionId)
      return { kind: 'here', why: 'it was given to it before' }
    }),
  )
  await loop.run()
  expect(entries.map(({ type }) => type)).toContain('task:lost')
  expect([...loop.state.tasks.values()]).toMatchObject([
    // The loop pays for the lost turn, too.
    { status: 'merged', sessionId: sessions[1], spentBefore: LOST },
  ])
  expect(new Set(sessions).size).toBe(2)
})

test(
  'a session that comes back into another clone is not taken for the work of the loop',
  LIMIT,
  async () => {
    const { book, host, list, withRun, makeTurn, leave, folder, git, project } = await hub()
    const clone = path.join(folder, 'clone')
    git('clone', '-q', project, clone)
    const loop = await book.start(
      host,
      list,
      withRun(async turn => {
        await makeTurn(turn)
        await (await leave(turn.sessionId)).comesBack(clone)
        return { kind: 'ended', machine: 'worker' }
      }),
    )
    await loop.run()
    expect([...loop.state.tasks.values()]).toMatchObject([
      { status: 'parked', why: expect.stringContaining('no worktree of the loop') },
    ])
  },
)

test('a session that a machine sends does not get the worktree of another session', LIMIT, async () => {
  const { book, host, list, withRun, leave, project } = await hub()
  const other = await host.createSession(project, { worktree: {} })
  const loop = await book.start(
    host,
    list,
    withRun(async ({ sessionId }) => {
      await (await leave(sessionId, other.worktree ?? '')).comesBack()
      return { kind: 'ended', machine: 'worker' }
    }),
  )
  await loop.run()
  expect([...loop.state.tasks.values()]).toMatchObject([
    { status: 'parked', why: expect.stringContaining('another session’s') },
  ])
})
