import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { codexSandbox } from './sandbox.ts'

test('the sandbox has a name, and full access has no sandbox', () => {
  const HOME = tmpdir()
  const name = expect.stringMatching(process.platform === 'linux' ? /^bubblewrap, / : /^Seatbelt$/)
  expect(codexSandbox('/', 'plan', { PATH: '/nowhere', HOME })).toEqual({ name })
  expect(codexSandbox('/', 'bypassPermissions', { PATH: '/nowhere', HOME })).toBeUndefined()
})

/** Defined only there: a skipped test counts as a failed one. */
const onLinux: typeof test | (() => void) = process.platform === 'linux' ? test : () => {}

onLinux('a project below /dev is hidden by the bubblewrap of the system', () => {
  const { PATH, folder } = withBubblewrap()
  const HOME = folder
  const named = `bubblewrap, ${PATH}/bwrap`
  expect(codexSandbox(folder, 'default', { PATH, HOME })).toEqual({ name: named })
  const problem = `Commands of Codex run in ${named}, which hides /dev/shm/a from them: they fail. Move it out of /dev.`
  expect(codexSandbox('/dev/shm/a', 'default', { PATH, HOME })).toEqual({ name: named, problem })
  expect(codexSandbox('/dev/shm/a', 'bypassPermissions', { PATH, HOME })).toBeUndefined()
})

onLinux('a link does not bring a project out, and the data folder of Codex counts too', () => {
  const { PATH, folder } = withBubblewrap()
  symlinkSync('/dev', path.join(folder, 'link'))
  const problem = expect.stringContaining('Move it out of /dev.')
  expect(codexSandbox(path.join(folder, 'link'), 'default', { PATH, HOME: folder })).toMatchObject({
    problem,
  })
  expect(codexSandbox(folder, 'default', { PATH, CODEX_HOME: '/dev/shm/codex' })).toMatchObject({ problem })
})

onLinux('the bubblewrap that Codex brings hides nothing, and a project brings none', () => {
  const { folder } = withBubblewrap()
  const own = { name: 'bubblewrap, which Codex brings' }
  expect(codexSandbox('/dev/shm/a', 'default', { PATH: '/nowhere', HOME: folder })).toEqual(own)
  expect(codexSandbox('/dev/shm/a', 'default', { PATH: 'bin:.:', HOME: folder })).toEqual(own)
})

/** A home with a program of that name on its PATH. Not below /dev, where temporary folders of tests are. */
function withBubblewrap(): { PATH: string; folder: string } {
  const parent = tmpdir().startsWith('/dev/') ? '/tmp' : tmpdir()
  const folder = mkdtempSync(path.join(parent, 'chirality-bubblewrap-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const PATH = path.join(folder, 'bin')
  mkdirSync(PATH)
  writeFileSync(path.join(PATH, 'bwrap'), '', { mode: 0o755 })
  return { PATH, folder }
}
