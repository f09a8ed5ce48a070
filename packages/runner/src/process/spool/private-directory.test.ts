import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useProject } from '../../../test/support/project.ts'
import { ensurePrivateDirectory } from './private-directory.ts'

const project = useProject()

test('a folder of another user is refused', async () => {
  const path = join(project.root, 'folder')
  mkdirSync(path)
  const uid = statSync(path).uid
  await expect(ensurePrivateDirectory(path, uid + 1)).rejects.toMatchObject({
    code: 'unsafe',
    message: expect.stringContaining(`uid ${uid}`),
  })
  await expect(ensurePrivateDirectory(path, uid)).resolves.toBeUndefined()
})

test('missing parent folders are not created', async () => {
  await expect(ensurePrivateDirectory(join(project.root, 'a/b'))).rejects.toMatchObject({ code: 'io' })
})
