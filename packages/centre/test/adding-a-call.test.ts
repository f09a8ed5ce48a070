import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const ROOT = path.join(PACKAGE, '..', '..')
const PAGE = readFileSync(path.join(ROOT, 'docs', 'adding-a-call.md'), 'utf8')
const run = promisify(execFile)

/** The blocks of the page that are whole files, by the file that their first line names. */
const blocks = new Map(
  [...PAGE.matchAll(/^```ts in-repository\n\/\/ (\S+)\n([\s\S]*?)^```/gm)].map(([, file = '', code = '']) => [
    file,
    code,
  ]),
)

test('a call with a page touches at most six files, and those of them that exist are where the page says', () => {
  const files = [...PAGE.matchAll(/^\d+\. \[?`([^`]+)`/gm)].map(([, file = '']) => file)
  expect(files.length).toBeGreaterThan(0)
  expect(files.length).toBeLessThanOrEqual(6)
  for (const file of files)
    expect(existsSync(path.join(ROOT, path.dirname(file))) || /tally/.test(file)).toBe(true)
  for (const file of blocks.keys()) expect(files).toContain(file)
})

test('the call of the page compiles, answers and has its name', { timeout: 120_000 }, async () => {
  const copy = mkdtempSync(path.join(PACKAGE, '.adding-a-call-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(path.join(PACKAGE, 'src'), path.join(copy, 'src'), {
    recursive: true,
    filter: file => !file.endsWith('.test.ts'),
  })
  const inCopy = (file: string) => path.join(copy, file.replace('packages/centre/', ''))
  const call = 'packages/centre/src/calls/tally.ts'
  const tree = 'packages/centre/src/calls.ts'
  writeFileSync(inCopy(call), blocks.get(call) ?? '')
  const before = readFileSync(inCopy(tree), 'utf8')
  const after = `${blocks.get(tree)}${before.replace('export const CALLS = {', 'export const CALLS = {\n  tally,')}`
  writeFileSync(inCopy(tree), after)
  writeFileSync(path.join(copy, 'src', 'try.ts'), TRIED)
  writeFileSync(
    path.join(copy, 'tsconfig.json'),
    JSON.stringify({ extends: '../tsconfig.json', include: ['src'] }),
  )
  const compiled = await run(path.join(PACKAGE, 'node_modules', '.bin', 'tsc'), ['-p', copy]).catch(
    (error: { stdout: string }) => error,
  )
  expect(compiled.stdout).toBe('')
  const args = ['--import', 'tsx', '--conditions=@chirality/source', path.join(copy, 'src', 'try.ts')]
  const { stdout } = await run(process.execPath, args, { cwd: PACKAGE })
  expect(JSON.parse(stdout)).toEqual([{ atWork: 0 }, { queued: 0 }, 'owner', true])
})

const TRIED = `import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { answer } from './answer.ts'
import { CALLS, EVERY_CALL } from './calls.ts'
import { createCentre } from './create-centre.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'adding-a-call-')))
const running = createCentre({ harnesses: new HarnessRegistry<SessionHarness>(), home: join(folder, '.home') })
await running.start([folder])
const { centre } = running
const { id: sessionId } = await answer(centre, CALLS.sessions.create, { project: folder })
console.log(
  JSON.stringify([
    await answer(centre, CALLS.tally.ofProject, { project: folder }),
    await answer(centre, CALLS.tally.ofSession, { sessionId }),
    CALLS.tally.ofSession.where,
    EVERY_CALL.has('tally.ofSession'),
  ]),
)
await running.close()
rmSync(folder, { recursive: true })
`
