import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runHelper } from '../process/program/run-helper.ts'
import { sendSignal } from '../process/system/process-table.ts'
import { Lookups } from './lookups.ts'

test('the process of a lookup that is ended is gone, and its half answer is not taken for one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-lookups-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'pid')
  const lookups = new Lookups('test')
  const asked = lookups.ask(async signal => {
    const script = 'echo half; echo $$ > "$0.new"; mv "$0.new" "$0"; exec tail -f /dev/null'
    const env = { PATH: process.env.PATH ?? '' }
    return (await runHelper('/bin/sh', ['-c', script, file], { env, signal })).stdout
  })
  const refused = expect(asked).rejects.toMatchObject({ code: 'aborted' })
  await expect.poll(() => existsSync(file)).toBe(true)
  const pid = Number(readFileSync(file, 'utf8'))
  expect(sendSignal(pid, 0)).toBe(true)
  await lookups.end()
  expect(sendSignal(pid, 0)).toBe(false)
  await refused
  expect(await lookups.ask(async () => 'asked again')).toBe('asked again')
})
