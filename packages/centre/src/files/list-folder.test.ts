import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listFolder } from './list-folder.ts'

test('folders come first, and numbers in names are in the order of their value', async () => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'list-folder-')))
  onTestFinished(() => rm(root, { recursive: true }))
  for (const name of ['mod10.ts', 'mod2.ts', 'mod1.ts', 'Mod3.ts', 'a.ts'])
    await writeFile(path.join(root, name), '')
  for (const name of ['v10', 'v9']) await mkdir(path.join(root, name))
  const { entries } = await listFolder(root, '')
  expect(entries.map(({ name }) => name)).toEqual([
    ...['v9', 'v10', 'a.ts', 'mod1.ts', 'mod2.ts', 'Mod3.ts', 'mod10.ts'],
  ])
})
