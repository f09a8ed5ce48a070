import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findByMarker } from '@chirality/runner'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCheck } from '../src/checks.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chirality-checks-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const LONG_MS = 600_000

test('a check that never ends is stopped with all that it started', async () => {
  const marker = randomUUID()
  const started = runCheck('sleep 1000 & (sleep 1000; true) | cat', { cwd: folder, timeoutMs: 300, marker })
  expect(await started).toMatchObject({ exitCode: null, stopped: 'was not done after 0.3 s' })
  expect(await findByMarker(marker)).toEqual([])
})

test('processes that a check leaves in the background are ended, and do not hold it up', async () => {
  const marker = randomUUID()
  const result = await runCheck('sleep 1000 & echo done', { cwd: folder, timeoutMs: LONG_MS, marker })
  expect(result).toMatchObject({ exitCode: 0, output: 'done\n' })
  expect(result.leftBehind).toBeGreaterThan(0)
  expect(await findByMarker(marker)).toEqual([])
})

test('the beginning and the end of a long output are kept, and too much of it stops the check', async () => {
  const options = { cwd: folder, timeoutMs: LONG_MS, marker: randomUUID() }
  let heard = 0
  const onOutput = (chunk: Buffer) => {
    heard += chunk.length
  }
  const command = 'echo first; head -c 3000000 /dev/zero | tr "\\0" x; echo last'
  const long = await runCheck(command, { ...options, onOutput })
  // A report of a runner may be in what is left out.
  expect(heard).toBe(3_000_011)
  expect(long).toMatchObject({ exitCode: 0, bytes: 3_000_011 })
  expect(long.output.length).toBeLessThan(40_000)
  expect(long.output).toMatch(/^first\n.*bytes left out.*last\n$/s)
  const endless = await runCheck('yes', { ...options, maxBytes: 2_000_000 })
  expect(endless).toMatchObject({ exitCode: null, stopped: 'printed more than 2000000 bytes' })
})

test('a command that does not exist and a folder that does not exist are results', async () => {
  const options = { timeoutMs: LONG_MS, marker: randomUUID() }
  expect(await runCheck('no-such-command-here', { ...options, cwd: folder })).toMatchObject({ exitCode: 127 })
  const gone = await runCheck('true', { ...options, cwd: join(folder, 'gone') })
  expect(gone).toMatchObject({ exitCode: null, stopped: expect.stringContaining('could not be started') })
})
