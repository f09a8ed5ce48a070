import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTempFolder, sweepTempFolders } from './temp-folder.ts'

let parent = ''
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'chirality-temp-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

/** No system assigns this pid. */
const DEAD_PID = 2 ** 30

test('folders of a killed server are removed, and no other folder is', async () => {
  const old = (name: string) => {
    mkdirSync(path.join(parent, name))
    utimesSync(path.join(parent, name), 1, 1)
  }
  old(`chirality-${DEAD_PID}-abc123`)
  old(`chirality-${process.pid}-abc123`)
  old('chirality-someones-notes')
  old(`chirality-${DEAD_PID}-abc123-copy`)
  mkdirSync(path.join(parent, `chirality-${DEAD_PID}-young1`))
  mkdirSync(path.join(parent, 'elsewhere'))
  symlinkSync(path.join(parent, 'elsewhere'), path.join(parent, `chirality-${DEAD_PID}-linked`))
  const folder = await makeTempFolder({ TMPDIR: parent }, 'test')
  expect(readdirSync(parent).sort()).toEqual(
    [
      path.basename(folder),
      `chirality-${process.pid}-abc123`,
      'chirality-someones-notes',
      `chirality-${DEAD_PID}-abc123-copy`,
      `chirality-${DEAD_PID}-young1`,
      `chirality-${DEAD_PID}-linked`,
      'elsewhere',
    ].sort(),
  )
})

test.runIf(process.platform === 'linux')(
  'the folder of a killed Chirality is removed at once, but not while an agent that works on has it',
  async () => {
    const own = path.basename(await makeTempFolder({ TMPDIR: parent }, 'test'))
    const [, namespace = ''] = /^chirality-\d+-(\d+)-/.exec(own) ?? []
    const make = (name: string) => {
      const folder = path.join(parent, name)
      mkdirSync(folder)
      return folder
    }
    make(`chirality-${DEAD_PID}-${namespace}-gone00`)
    make(`chirality-${DEAD_PID}-1-other0`)
    make(`chirality-${process.pid}-${namespace}-alive0`)
    const used = make(`chirality-${DEAD_PID}-${namespace}-given0`)
    const told = make(`chirality-${DEAD_PID}-${namespace}-told00`)
    const agent = spawn('/bin/sh', ['-c', 'read line', `${told}/system.txt`], { env: { TMPDIR: used } })
    await once(agent, 'spawn')
    const elsewhere = `${parent}/.`
    await sweepTempFolders({ TMPDIR: elsewhere })
    const kept = [own, `chirality-${process.pid}-${namespace}-alive0`, `chirality-${DEAD_PID}-1-other0`]
    expect(readdirSync(parent).sort()).toEqual([...kept, path.basename(used), path.basename(told)].sort())
    agent.stdin.end()
    await once(agent, 'exit')
    // Not for a minute, and at once if it has to be.
    await sweepTempFolders({ TMPDIR: elsewhere })
    expect(readdirSync(parent)).toContain(path.basename(used))
    await sweepTempFolders({ TMPDIR: elsewhere }, { isNow: true })
    expect(readdirSync(parent).sort()).toEqual(kept.sort())
  },
)

test('where nothing can be written it says what to do', async () => {
  const missing = path.join(parent, 'missing')
  await expect(makeTempFolder({ TMPDIR: missing }, 'test')).rejects.toMatchObject({
    code: 'invalid_query',
    message: expect.stringContaining('set TMPDIR'),
  })
})
