import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Link } from '../src/engine/link.ts'
import { Mirror } from '../src/mirror/mirror.ts'
import { answerCalls, fetchBytes } from '../src/rpc/calls.ts'
import { LogBytes } from '../src/ship/log-bytes.ts'
import { logPath, Shipper } from '../src/ship/shipper.ts'
import {
  connect,
  folder,
  joined,
  later,
  NO_WORK,
  openSessions,
  say,
  sessionLog,
  startFleet,
} from './support/fleet.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

async function fleetOfTwo() {
  const fleet = await startFleet()
  const hub = await connect(fleet.hub)
  await hub.prepare()
  const { member } = await joined(fleet, hub)
  const worker = await connect(member)
  const project = folder()
  return { fleet, hub, worker, project }
}

function ship(link: Link, project: string): Shipper {
  const shipper = new Shipper({
    link,
    machine: 'worker',
    projects: () => [project],
    sessions: openSessions(),
  })
  later(() => shipper.close())
  return shipper
}

function mirror(link: Link, mirrors = folder()) {
  const fetch = (machine: string, session: string, from: number) =>
    fetchBytes(link, machine, { session, from })
  const logs = new Mirror({ folder: mirrors, fetch })
  const follower = link.follow('events', 1, message => logs.take(message))
  later(async () => {
    await follower.close()
    await logs.close()
  })
  return { logs, follower, file: logPath(join(mirrors, 'worker'), SESSION), mirrors }
}

const bytes = (file: string) => {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

describe('a log on another machine', () => {
  test('is mirrored byte for byte, also a line of several megabytes, and read live', async () => {
    const { hub, worker, project } = await fleetOfTwo()
    const log = await sessionLog(project, SESSION)
    say(log, 'first')
    const { logs, file } = mirror(hub)
    ship(worker, project)
    const source = logPath(project, SESSION)
    await expect.poll(() => bytes(file)).toContain('first')
    const seen: number[] = []
    const reading = await logs.log('worker', SESSION)
    later(() => reading.close())
    const live = (async () => {
      for await (const batch of reading.subscribe(0)) {
        seen.push(...batch.map(({ seq }) => seq))
        if (seen.length >= 52) break
      }
    })()
    say(log, 'ü'.repeat(1_500_000))
    for (let i = 0; i < 50; i += 1) say(log, `piece ${i}`)
    await log.flush()
    await live
    expect(seen).toEqual(Array.from({ length: 52 }, (_, i) => i + 1))
    await expect.poll(() => bytes(file) === bytes(source)).toBe(true)
  })

  test('is shipped beside links, pipes and folders in the place of others, which are reported once', async () => {
    const { hub, worker, project } = await fleetOfTwo()
    const log = await sessionLog(project, SESSION)
    say(log, 'first')
    const secret = join(folder(), 'secret')
    writeFileSync(secret, 'private\n')
    symlinkSync(secret, logPath(project, 'link'))
    symlinkSync('loop.ndjson', logPath(project, 'loop'))
    execFileSync('mkfifo', [logPath(project, 'pipe')])
    mkdirSync(logPath(project, 'folder'))
    const linked = folder()
    mkdirSync(join(linked, '.chirality'))
    const outside = folder()
    writeFileSync(join(outside, 'outside.ndjson'), 'private\n')
    symlinkSync(outside, join(linked, '.chirality', 'events'))
    const faults: string[] = []
    const sessions: string[] = []
    const follower = hub.follow('events', 1, async ({ subject }) => {
      sessions.push(subject)
    })
    later(() => follower.close())
    const { file } = mirror(hub)
    const shipper = new Shipper({
      link: worker,
      machine: 'worker',
      projects: () => [linked, project, join(linked, 'none')],
      sessions: openSessions(
        ...['link', 'pipe', 'loop'].map(sessionId => ({
          ...{ sessionId, projectRoot: project, phase: 'idle' as const, lastSeq: 1 },
        })),
      ),
      onFault: error => faults.push(String(error)),
    })
    later(() => shipper.close())
    await expect.poll(() => bytes(file)).toContain('first')
    say(log, 'second')
    await log.flush()
    await shipper.flush()
    await expect.poll(() => bytes(file)).toContain('second')
    expect(faults).toHaveLength(5)
    expect(faults.every(fault => fault.includes('Remove it'))).toBe(true)
    expect(new Set(sessions).size).toBe(1)
  })

  test('of a live session does not wait for the backlog of another one', async () => {
    const { hub, worker, project } = await fleetOfTwo()
    const live = await sessionLog(project, SESSION)
    say(live, 'first')
    await live.flush()
    const line = `${'x'.repeat(1023)}\n`
    writeFileSync(logPath(project, 'backlog'), line.repeat(24 * 1024))
    const order: string[] = []
    let shipped = 0
    const follower = hub.follow('events', 1, async ({ subject, body }) => {
      const isLive = subject.endsWith(SESSION)
      if (isLive) order.push(Buffer.from(body).toString().includes('second') ? 'live' : 'start')
      else shipped += body.length
      // While the backlog is on its way.
      if (!isLive && shipped === body.length) {
        say(live, 'second')
        await live.flush()
      }
      if (shipped === 24 * 1024 * 1024) order.push('backlog')
    })
    later(() => follower.close())
    const shipper = new Shipper({
      link: worker,
      machine: 'worker',
      projects: () => [project],
      sessions: openSessions({ sessionId: SESSION, projectRoot: project, phase: 'running', lastSeq: 1 }),
    })
    later(() => shipper.close())
    await expect.poll(() => order).toEqual(['start', 'live', 'backlog'])
    appendFileSync(logPath(project, 'backlog'), line)
    await expect.poll(() => shipped).toBe(24 * 1024 * 1024 + 1024)
  })

  test('is complete after the broker was away, and after it lost its disk', async () => {
    const { fleet, hub, worker, project } = await fleetOfTwo()
    const log = await sessionLog(project, SESSION)
    const { file } = mirror(hub)
    ship(worker, project)
    say(log, 'before')
    await expect.poll(() => bytes(file)).toContain('before')
    await fleet.stop()
    say(log, 'while it was away')
    await log.flush()
    await fleet.restart()
    await expect.poll(() => bytes(file)).toContain('while it was away')
    await fleet.stop()
    rmSync(join(fleet.home, 'fleet', 'broker', 'store'), { recursive: true })
    say(log, 'after the loss')
    await log.flush()
    await fleet.restart()
    await expect
      .poll(() =>
        hub.prepare().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    // A new stream counts from 1 again, as a hub that starts anew does.
    const again = mirror(hub)
    await expect.poll(() => bytes(again.file)).toBe(bytes(logPath(project, SESSION)))
  })

  test('replaces the mirrored one when its machine wrote it anew, and the old one is kept', async () => {
    const { hub, worker, project } = await fleetOfTwo()
    const log = await sessionLog(project, SESSION)
    say(log, 'the old one')
    await log.flush()
    const { file, mirrors } = mirror(hub)
    const first = ship(worker, project)
    await expect.poll(() => bytes(file)).toContain('the old one')
    await first.close()
    const source = logPath(project, SESSION)
    writeFileSync(source, bytes(source).replace('the old one', 'another one'), 'latin1')
    ship(worker, project)
    await expect.poll(() => bytes(file)).toBe(bytes(source))
    expect(bytes(join(mirrors, 'worker', 'replaced', `${SESSION}-1.ndjson`))).toContain('the old one')
  })

  test('with a hole is filled from the machine itself', async () => {
    const { hub, worker, project } = await fleetOfTwo()
    const log = await sessionLog(project, SESSION)
    say(log, 'one')
    const { file, logs, follower, mirrors } = mirror(hub)
    ship(worker, project)
    const source = logPath(project, SESSION)
    later(
      answerCalls(worker, 'worker', {
        call: async () => undefined,
        bytes: (_, from) => new LogBytes(source).read(from, 1024 * 1024),
        moves: { answer: async () => undefined, bytes: async () => Buffer.alloc(0), close: async () => {} },
        work: NO_WORK,
        spent: () => {},
      }),
    )
    await expect.poll(() => bytes(file)).toContain('one')
    await follower.close()
    await logs.close()
    truncateSync(file, 0)
    const cursor = follower.cursor
    const later2 = new Mirror({
      folder: mirrors,
      fetch: (machine, session, from) => fetchBytes(hub, machine, { session, from }),
    })
    const reader = hub.follow('events', cursor + 1, message => later2.take(message))
    later(async () => {
      await reader.close()
      await later2.close()
    })
    say(log, 'two')
    await log.flush()
    await expect.poll(() => bytes(file)).toBe(bytes(source))
    expect(bytes(file)).toContain('one')
  })
})
