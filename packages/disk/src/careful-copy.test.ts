import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ODD_FILES, putOddFile } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { copyCarefully } from './careful-read.ts'

test('a copy is made of a regular file only, and of nothing that has no end', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-copy-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')]
  expect(await copyCarefully(from, to)).toBe(false)
  for (const text of ['', 'a', 'x'.repeat(3_000_000), 'short']) {
    writeFileSync(from, text)
    expect(await copyCarefully(from, to)).toBe(true)
    expect(readFileSync(to, 'utf8')).toBe(text)
  }
  const odd = Object.keys(ODD_FILES).filter(kind => /link|FIFO|folder/.test(kind))
  expect(odd.length).toBeGreaterThan(4)
  for (const kind of odd) {
    putOddFile(kind, from)
    await expect(copyCarefully(from, to), kind).rejects.toMatchObject({ code: 'unsafe' })
  }
  expect(readFileSync(to, 'utf8')).toBe('short')
})
