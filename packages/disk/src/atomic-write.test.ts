import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sweepTemporaries, temporaryName } from './atomic-write.ts'

/** No system gives a process such a number. */
const DEAD = (2 ** 30).toString(16).padStart(8, '0')
const RANDOM = '0123456789ab'

test('temporary files of a killed process are removed; those in use, young ones and other files stay', () => {
  const root = mkdtempSync(join(tmpdir(), 'chirality-sweep-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const put = (...parts: string[]) => {
    mkdirSync(join(root, ...parts.slice(0, -1)), { recursive: true })
    writeFileSync(join(root, ...parts), 'x')
  }
  put(`budget.json.tmp-${DEAD}${RANDOM}`)
  put('state', 'turns', `a.json.tmp-${DEAD}${RANDOM}`)
  const left = [
    [temporaryName('budget.json')],
    // Of a release that did not say whose it is, and not an hour old.
    [`budget.json.tmp-${RANDOM}`],
    [`a.json.tmp-${DEAD}${RANDOM}.json`],
    ['state', 'turns', 'a.json'],
    ['logs', `spool.tmp-${DEAD}${RANDOM}`],
  ]
  for (const parts of left) put(...parts)
  mkdirSync(join(root, `folder.tmp-${DEAD}${RANDOM}`))
  symlinkSync('nowhere', join(root, `link.tmp-${DEAD}${RANDOM}`))
  sweepTemporaries(root)
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  expect(files.map(({ name }) => name).sort()).toEqual(left.map(parts => parts.at(-1)).sort())
  expect(readdirSync(root)).toContain(`link.tmp-${DEAD}${RANDOM}`)
  sweepTemporaries(join(root, 'missing'))
})
