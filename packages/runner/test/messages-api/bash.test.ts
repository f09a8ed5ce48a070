import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { Shell, type ShellResult } from '../../src/messages-api/tools/shell/shell.ts'
import { TEST_ENV, untilGone } from '../support/programs.ts'
import { useProject } from '../support/project.ts'
import { fileAppears } from '../support/turns.ts'
import { useTools } from './support/tools.ts'

const world = useTools()
const project = useProject()

describe('the tool', () => {
  test.each<[string, string, string, boolean]>([
    ['output', 'echo out; echo err >&2', 'out\nerr', false],
    ['no output', 'true', 'Done, without output.', false],
    ['an exit code', 'echo no; exit 3', 'no\nExit code 3.', true],
    ['a signal', 'kill -KILL $$', 'Ended by SIGKILL.', true],
    ['no input to wait for', 'cat', 'Done, without output.', false],
    ['NUL', 'echo a\0b', 'NUL', true],
  ])('%s', async (_what, command, content, isError) => {
    const result = await world.call('bash', { command })
    expect(result.content).toContain(content)
    expect(result.isError).toBe(isError)
  })

  test('runs in the project, and its detail has the streams apart', async () => {
    const { detail } = await world.call('bash', { command: 'pwd; echo oops >&2; exit 2' })
    expect(detail).toMatchObject({
      stdout: `${world.project}\n`,
      stderr: 'oops\n',
      exitCode: 2,
      timedOut: false,
    })
  })

  test('1 GB of output costs a few kilobytes, with the beginning and the end', async () => {
    const before = process.memoryUsage().rss
    const command = 'echo begin; head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo end'
    const { content, detail } = await world.call('bash', { command })
    expect(content.startsWith('begin\nxxx')).toBe(true)
    expect(content.endsWith('xxx\nend')).toBe(true)
    expect(content).toMatch(/\[9999\d+ bytes left out\]/)
    expect(content.length).toBeLessThan(40_000)
    expect(detail).toMatchObject({ isCut: true, exitCode: 0 })
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })

  test('a command that never ends is ended at its time limit, with what it started', async () => {
    const result = await world.call('bash', {
      command: 'sleep 600 & echo $!; yes > /dev/null',
      timeout: 2000,
    })
    expect(result).toMatchObject({ isError: true, detail: { timedOut: true } })
    expect(result.content).toContain('time limit')
    await untilGone(Number.parseInt(result.content, 10))
  })

  test.each([0, 600_001, 1.5, '5'])('a time limit of %j is refused', async timeout => {
    expect(await world.call('bash', { command: 'true', timeout })).toMatchObject({ isError: true })
  })
})

describe('the shell', () => {
  test('stops at once when it is told to', async () => {
    const shell = new Shell({ cwd: project.root, env: TEST_ENV, marker: randomUUID() })
    const stop = new AbortController()
    const started = path.join(project.root, 'started')
    const running = shell.run(`touch ${started}; sleep 600`, { timeoutMs: 600_000, signal: stop.signal })
    await fileAppears(started)
    stop.abort()
    expect(await running).toMatchObject({ interrupted: true, timedOut: false })
    await shell.close()
  })

  test('a background command goes on during later commands, and ends with the turn', async () => {
    const shell = new Shell({ cwd: project.root, env: TEST_ENV, marker: randomUUID() })
    const run = (command: string): Promise<ShellResult> =>
      shell.run(command, { timeoutMs: 60_000, signal: new AbortController().signal })
    const pids = [
      await run('sleep 600 & echo $!'),
      // Out of the group, and its parent is gone.
      await run('(set -m; sleep 600 > /dev/null 2>&1 & echo $!)'),
    ].map(({ stdout }) => Number(stdout))
    for (const pid of pids) expect((await run(`kill -0 ${pid}`)).exitCode).toBe(0)
    expect(await shell.close()).toBeGreaterThanOrEqual(2)
    for (const pid of pids) await untilGone(pid)
  })

  test('one that ignores SIGTERM is killed', async () => {
    const shell = new Shell({
      cwd: project.root,
      env: TEST_ENV,
      marker: randomUUID(),
      stop: { termGraceMs: 50 },
    })
    const stop = new AbortController()
    const started = path.join(project.root, 'started')
    const running = shell.run(`trap '' TERM; touch ${started}; while true; do sleep 0.05; done`, {
      timeoutMs: 600_000,
      signal: stop.signal,
    })
    await fileAppears(started)
    stop.abort()
    expect(await running).toMatchObject({ exitSignal: 'SIGKILL' })
    await shell.close()
  })

  test('reports output while the command runs', async () => {
    const shell = new Shell({ cwd: project.root, env: TEST_ENV, marker: randomUUID() })
    const go = path.join(project.root, 'go')
    const told: string[] = []
    const stop = new AbortController()
    let tell = () => {}
    const heard = new Promise<void>(resolve => {
      tell = resolve
    })
    const command = `echo early; while [ ! -e ${go} ]; do sleep 0.3; echo more; done`
    const running = shell.run(command, {
      timeoutMs: 600_000,
      signal: stop.signal,
      onOutput: piece => {
        told.push(piece)
        tell()
      },
    })
    await heard
    expect(existsSync(go)).toBe(false)
    stop.abort()
    await running
    expect(told.join('')).toContain('early')
    await shell.close()
  })

  test('a deleted folder causes an error', async () => {
    const shell = new Shell({ cwd: path.join(project.root, 'gone'), env: TEST_ENV, marker: randomUUID() })
    const running = shell.run('true', { timeoutMs: 1000, signal: new AbortController().signal })
    await expect(running).rejects.toMatchObject({ code: 'cwd-missing' })
  })
})
