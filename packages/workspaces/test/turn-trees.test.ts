import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runHelper } from '@chirality/runner'
import { expect, onTestFinished, test } from 'vitest'

test('a record of snapshots that cannot be read for want of files is not taken for an empty one', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-trees-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const program = fileURLToPath(new URL('programs/trees-without-files.ts', import.meta.url))
  const node = `'${process.execPath}' --import tsx --conditions=@chirality/source '${program}' '${root}'`
  const { stdout, stderr } = await runHelper('/bin/sh', ['-c', `ulimit -n 128 && exec ${node}`], {
    env: { PATH: process.env.PATH ?? '' },
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    timeoutMs: 50_000,
  })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ reading: 'EMFILE', written: 'EMFILE', kept: ['first', 'third'] })
})
