import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { openSpool } from '@chirality/runner'
import { expect, onTestFinished, test } from 'vitest'
import { readNativeLines } from '../../src/index.ts'
import { readRawLogRule, writeRawLogRule } from '../../src/spools/raw-log-rule.ts'
import { diskUseOf, listRawLogs, logsToPrune, removeRawLogs } from '../../src/spools/raw-logs.ts'
import { KeptAgentsFile } from '../../src/turns/record/kept-agents-file.ts'
import { bundle } from '../support/bundle.ts'
import { useHostWorld } from '../support/host-world.ts'

const world = useHostWorld()
const DAY_MS = 24 * 60 * 60 * 1000
const ALL = { keep: 'size', bytes: 1 } as const

/** A raw log that was last written to so many days ago; with stderr it is two files. */
function rawLog(
  name: string,
  daysAgo: number,
  { bytes = 100, stderr = false, harness = 'claude-code' } = {},
) {
  const base = world.file('logs', harness, `20200101T000000000Z-${name}`)
  mkdirSync(dirname(base), { recursive: true })
  const at = new Date(Date.now() - daysAgo * DAY_MS)
  for (const ending of stderr ? ['.ndjson', '.stderr'] : ['.ndjson']) {
    writeFileSync(`${base}${ending}`, 'x'.repeat(bytes))
    utimesSync(`${base}${ending}`, at, at)
  }
  return `${base}.ndjson`
}

const names = (logs: readonly { name: string }[]) => logs.map(({ name }) => name.slice(20))

test('a rule of days takes what is older, a rule of size the oldest until the rest fits', async () => {
  rawLog('old-t', 40, { stderr: true })
  rawLog('middle-t', 20)
  rawLog('new-t', 1, { harness: 'codex' })
  const logs = await listRawLogs(world.project)
  expect(logs.map(({ name, bytes, isInUse }) => [name.slice(20), bytes, isInUse])).toEqual([
    ['old-t', 200, false],
    ['middle-t', 100, false],
    ['new-t', 100, false],
  ])
  expect(logsToPrune(logs, { keep: 'forever' }).going).toEqual([])
  expect(names(logsToPrune(logs, { keep: 'days', days: 30 }).going)).toEqual(['old-t'])
  expect(names(logsToPrune(logs, { keep: 'days', days: 10 }).going)).toEqual(['old-t', 'middle-t'])
  expect(names(logsToPrune(logs, { keep: 'size', bytes: 400 }).going)).toEqual([])
  expect(names(logsToPrune(logs, { keep: 'size', bytes: 399 }).going)).toEqual(['old-t'])
  expect(names(logsToPrune(logs, { keep: 'size', bytes: 150 }).going)).toEqual(['old-t', 'middle-t'])
})

test('what an agent was sent counts with its log, and goes with it', async () => {
  const sent = rawLog('spoken-t', 40).replace(/ndjson$/, 'sent')
  writeFileSync(sent, 'x'.repeat(50))
  utimesSync(sent, new Date(0), new Date(0))
  const logs = await listRawLogs(world.project)
  expect(logs.map(({ bytes }) => bytes)).toEqual([150])
  await removeRawLogs(logs)
  expect(readdirSync(dirname(sent))).toEqual([])
})

test('other files, links and folders in the place of logs are neither listed nor deleted', async () => {
  const kept = rawLog('one-t', 3)
  const folder = dirname(kept)
  writeFileSync(join(folder, 'notes.ndjson'), 'mine')
  writeFileSync(world.file('logs', 'harness.log'), 'ours')
  mkdirSync(join(folder, '20200101T000000000Z-folder-t.ndjson'))
  symlinkSync('/etc/hosts', join(folder, '20200101T000000000Z-link-t.ndjson'))
  const logs = await listRawLogs(world.project)
  expect(names(logs)).toEqual(['one-t'])
  await removeRawLogs(logs)
  expect(readdirSync(folder)).toHaveLength(3)
  expect(existsSync(world.file('logs', 'harness.log'))).toBe(true)
})

test('logs of a running agent, of an unfinished turn and of a kept agent stay, and so do all while a record is damaged', async () => {
  const spool = await openSpool({ projectRoot: world.project, harness: 'x', sessionId: 'open', turnId: 't' })
  rawLog('at-work-t', 9)
  rawLog('recorded-t', 9)
  rawLog('gone-t', 9)
  const process = {
    pid: 1,
    startTime: '',
    marker: 'm',
    stderrPath: '',
    spoolOffset: 0,
    spoolPath: rawLog('shared', 9, { harness: 'codex' }),
  }
  const agents = new KeptAgentsFile(world.project, 'somebody')
  await agents.prepare()
  agents.add(process)
  mkdirSync(world.file('state', 'turns'), { recursive: true })
  const record = {
    turnId: 't',
    startedAt: '2026-01-01T00:00:00.000Z',
    message: 'Go',
    harness: 'x',
    afterSeq: 0,
    processes: [],
    budget: {},
  }
  writeFileSync(world.file('state', 'turns', 'recorded.json'), JSON.stringify(record))
  const list = () => listRawLogs(world.project, { atWork: new Set(['at-work']) })
  const { going, inUse } = logsToPrune(await list(), ALL)
  expect(names(going)).toEqual(['gone-t'])
  expect(names(inUse).sort()).toEqual(['at-work-t', 'open-t', 'recorded-t', 'shared'])

  writeFileSync(world.file('state', 'turns', 'damaged.json'), '{')
  expect(logsToPrune(await list(), ALL).going).toEqual([])
  await spool.discard()
})

test('a log that is written to after it was listed stays', async () => {
  const file = rawLog('one-t', 3)
  const logs = await listRawLogs(world.project)
  writeFileSync(file, 'more')
  expect(await removeRawLogs(logs)).toEqual([])
  expect(existsSync(file)).toBe(true)
})

test('a process that is killed at any deletion leaves what the next one finishes', async () => {
  const program = await bundle('test/programs/prune-and-die.ts')
  onTestFinished(() => program.remove())
  for (const number of [0, 1, 3]) {
    for (const name of ['a-t', 'b-t', 'c-t']) rawLog(name, 9, { stderr: true })
    const child = spawn(process.execPath, [program.file, world.project, String(number)], { stdio: 'inherit' })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    const left = readdirSync(world.file('logs', 'claude-code'))
    expect(left).toHaveLength(6 - number)
    await removeRawLogs(logsToPrune(await listRawLogs(world.project), ALL).going)
    expect(readdirSync(world.file('logs', 'claude-code'))).toEqual([])
  }
})

test('after pruning, a session has its history, goes on, and says that its raw log is gone; one at work keeps it', async () => {
  const model = await world.model({ answers: ['One.', 'Two.', { text: 'Three.', stallAfter: 'nothing' }] })
  const host = world.host([world.claude(model, { keepAlive: false })])
  const { id } = await host.createSession(world.project, { mode: 'direct', harness: 'claude-code' })
  const session = await host.session(id)
  await session.start('First?')
  await session.settled()
  const before = session.log.lastSeq
  const prune = async () => {
    await host.pruneRawLogs([world.project], ALL)
    return readdirSync(world.file('logs', 'claude-code'))
  }
  // The agent's process may end a moment after its turn.
  await expect.poll(prune, { timeout: 60_000 }).toEqual([])
  expect((await readNativeLines(world.project, id)).problems).toMatchObject([
    { message: expect.stringContaining('is gone') },
  ])
  expect(session.log.lastSeq).toBe(before)
  await session.start('Second?')
  await session.settled()
  expect(session.status).toMatchObject({ lastTurn: 'completed' })
  expect(model.requests.some(({ body }) => /One\..*Second\?/s.test(JSON.stringify(body)))).toBe(true)

  await session.start('Third?')
  await model.waitForRequest(({ state }) => state === 'stalled')
  const atWork = await host.pruneRawLogs([world.project], ALL)
  expect(names(atWork)).toEqual([])
  expect(readdirSync(world.file('logs', 'claude-code')).length).toBeGreaterThan(0)
  session.interrupt()
  await session.settled()
  const use = await diskUseOf(world.project)
  expect(use.events).toBe(
    readdirSync(world.file('events')).reduce(
      (sum, name) => sum + readFileSync(world.file('events', name)).length,
      0,
    ),
  )
  expect(use.rawLogs).toBeGreaterThan(0)
})

test('the rule is kept in the data folder, and a damaged one keeps everything', async () => {
  expect(readRawLogRule(world.data)).toEqual({ keep: 'forever' })
  await writeRawLogRule({ keep: 'days', days: 30 }, world.data)
  expect(readRawLogRule(world.data)).toEqual({ keep: 'days', days: 30 })
  for (const text of [
    '',
    '{',
    '[]',
    '{"keep":"days"}',
    '{"keep":"days","days":0}',
    '{"keep":"size","bytes":-1}',
  ]) {
    writeFileSync(join(world.data, 'raw-logs.json'), text)
    expect(readRawLogRule(world.data)).toEqual({ keep: 'forever' })
  }
})
