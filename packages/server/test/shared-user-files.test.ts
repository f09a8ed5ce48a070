import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { sharedBundle } from '@chirality/fixtures/bundle-program'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SHARED_FILES, WRITERS } from './support/shared-files.ts'

const PROGRAM = await sharedBundle(path.join(import.meta.dirname, 'programs/write-user-files.ts'))
const ROUNDS = 5
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-shared-')))
const writers = WRITERS.map(startWriter)

beforeAll(async () => {
  expect(await Promise.all(writers.map(({ answer }) => answer()))).toEqual(WRITERS.map(() => 'ready'))
}, 60_000)
afterAll(async () => {
  await Promise.all(writers.map(({ end }) => end()))
  rmSync(folder, { recursive: true, force: true })
})

test.each(Object.entries(SHARED_FILES))(
  'four processes that change the same file at the same moment, %s: all four changes are kept',
  async (file, { kept }) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const place = path.join(folder, `${file}-${round}`)
      const [home, project] = [path.join(place, 'home'), path.join(place, 'shop')]
      for (const name of WRITERS) mkdirSync(path.join(project, name), { recursive: true })
      for (const { child } of writers) child.stdin?.write(`${file}\t${home}\t${project}\n`)
      expect(await Promise.all(writers.map(({ answer }) => answer()))).toEqual(WRITERS.map(() => 'done'))
      expect([...(await kept({ home, project }))].sort()).toEqual([...WRITERS])
      const left = readdirSync(place, { recursive: true }).map(String)
      expect(left.filter(name => /\.(lock|tmp-.*)$/.test(name))).toEqual([])
    }
  },
)

function startWriter(who: string): {
  child: ChildProcess
  answer: () => Promise<string>
  end: () => Promise<unknown>
} {
  const child = spawn(process.execPath, [PROGRAM, who], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const end = () => {
    child.kill('SIGKILL')
    return ended
  }
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, answer: async () => (await lines.next()).value ?? 'ended', end }
}
