import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensurePrivateDirectory } from './private-directory.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a folder of another user is refused', async () => {
  const path = join(newFolder(), 'folder')
  mkdirSync(path)
  const uid = statSync(path).uid
  await expect(ensurePrivateDirectory(path, uid + 1)).rejects.toMatchObject({
    code: 'unsafe',
    message: expect.stringContaining(`uid ${uid}`),
  })
  await expect(ensurePrivateDirectory(path, uid)).resolves.toBeUndefined()
})

test('missing parent folders are not created', async () => {
  await expect(ensurePrivateDirectory(join(newFolder(), 'a/b'))).rejects.toMatchObject({ code: 'io' })
})
