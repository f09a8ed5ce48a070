import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import {
  listProcesses,
  parseProcStat,
  parseProcUsage,
  parsePs,
  parsePsUsage,
  readProcess,
  readUsage,
  stillRunning,
} from './process-table.ts'

test('the table has us, with our parent', async () => {
  const own = (await listProcesses()).find(entry => entry.pid === process.pid)
  expect(own).toMatchObject({ parentPid: process.ppid, zombie: false })
  expect(await readProcess(process.pid)).toEqual(own)
})

test('a process is alive until it has ended, and a stranger with its pid is another one', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] })
  await once(child, 'spawn')
  const entry = await readProcess(child.pid ?? 0)
  if (entry === undefined) throw new Error('the child is not in the table')
  expect(entry).toMatchObject({ parentPid: process.pid, zombie: false })
  expect(await stillRunning([entry])).toEqual([entry])
  expect(await stillRunning([{ ...entry, startedAt: 'before' }])).toEqual([])
  child.stdin.end()
  await once(child, 'exit')
  expect(await stillRunning([entry])).toEqual([])
})

test('a name with brackets and spaces does not shift the fields', () => {
  const fields = ['S', '41', '42', '43', ...Array.from({ length: 15 }, () => '0'), '987654', '0']
  expect(parseProcStat(`1234 (a) b (c)) ${fields.join(' ')}`)).toEqual({
    pid: 1234,
    parentPid: 41,
    groupId: 42,
    startedAt: '987654',
    zombie: false,
  })
})

test('a zombie is not reported as alive', () => {
  const rest = Array.from({ length: 19 }, () => '1').join(' ')
  expect(parseProcStat(`7 (x) Z ${rest}`)?.zombie).toBe(true)
  expect(parsePs('  7     1     7 Z+   Sat Nov 16 02:56:01 2024\n')[0]?.zombie).toBe(true)
})

test('a text that is no stat line gives no process', () => {
  expect(parseProcStat('')).toBeUndefined()
  expect(parseProcStat('12 (x) S 1')).toBeUndefined()
})

test('the output of ps, as macOS and Linux print it', () => {
  const output = [
    '    1     0     1 Ss   Sat Nov  9 02:56:01 2024    ',
    '  501     1   501 S+   Sat Nov 16 12:00:00 2024',
    'no process line',
    '',
  ].join('\n')
  expect(parsePs(output)).toEqual([
    { pid: 1, parentPid: 0, groupId: 1, startedAt: 'Sat Nov  9 02:56:01 2024', zombie: false },
    { pid: 501, parentPid: 1, groupId: 501, startedAt: 'Sat Nov 16 12:00:00 2024', zombie: false },
  ])
})

test('the resources of a process: of this one by the system, and of others by what `ps` prints', async () => {
  const [own] = await readUsage([process.pid, 2 ** 22 + 1])
  expect(own).toMatchObject({ pid: process.pid, command: expect.stringContaining('node') })
  expect(own?.memoryBytes).toBeGreaterThan(10_000_000)
  expect(own?.cpuMs).toBeGreaterThan(0)
  expect(own?.ageMs).toBeGreaterThanOrEqual(0)
  expect(parsePsUsage('  501 1-02:03:04 0:05.50  1234 /usr/bin/node server.js \nno process\n')).toEqual([
    { pid: 501, command: '/usr/bin/node server.js', ageMs: 93_784_000, cpuMs: 5500, memoryBytes: 1_263_616 },
  ])
})

test('a kernel thread and a name with parentheses are read, too', () => {
  const numbers = Array.from({ length: 40 }, (_, i) => String(i))
  const stat = `7 (a) b) S ${numbers.join(' ')}`
  const usage = parseProcUsage({ pid: 7, stat, status: 'Name: x\n', command: '', uptimeS: 100 })
  // Fields 14, 15 and 22 of proc(5).
  expect(usage).toEqual({ pid: 7, command: 'a) b', ageMs: 99_820, cpuMs: 210, memoryBytes: null })
})
