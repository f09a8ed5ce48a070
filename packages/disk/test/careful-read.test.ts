import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ODD_FILES, putOddFile } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { listCarefully, readCarefully, readJsonCarefully, readTextCarefully } from '../src/index.ts'

const LIMIT = 1024 * 1024

for (const kind of Object.keys(ODD_FILES)) {
  test(`${kind} is a fault as data, or text that no schema accepts`, async () => {
    const root = newFolder()
    putOddFile(kind, path.join(root, 'sub', 'file.json'))
    for (const links of ['none', 'inside'] as const) {
      const read = await readJsonCarefully({ root, path: 'sub/file.json', links, maxBytes: LIMIT }, () => {
        throw new Error('not this')
      })
      expect(read).toHaveProperty(
        'fault.message',
        expect.stringContaining(path.join(root, 'sub', 'file.json')),
      )
    }
    expect(await listCarefully({ root, path: 'sub/file.json', links: 'none' })).toEqual(
      kind === 'a folder' ? { entries: [] } : { fault: expect.anything() },
    )
  })
}

test('a link on the way is refused where none belongs, and followed only inside the folder elsewhere', async () => {
  const root = newFolder()
  const outside = newFolder()
  mkdirSync(path.join(root, 'real'))
  writeFileSync(path.join(root, 'real', 'file'), 'in')
  writeFileSync(path.join(outside, 'file'), 'out')
  symlinkSync('real', path.join(root, 'near'))
  symlinkSync(outside, path.join(root, 'far'))
  const read = (file: string, links: 'none' | 'inside') =>
    readTextCarefully({ root, path: file, links, maxBytes: LIMIT })
  expect(await read('real/file', 'none')).toEqual({ text: 'in' })
  expect(await read('near/file', 'none')).toMatchObject({ fault: { kind: 'link' } })
  expect(await read('near/file', 'inside')).toEqual({ text: 'in' })
  expect(await read('far/file', 'inside')).toMatchObject({ fault: { kind: 'outside' } })
  expect(await read('../file', 'none')).toMatchObject({ fault: { kind: 'outside' } })
  expect(await read('real/file/more', 'none')).toMatchObject({ fault: { kind: 'not-a-folder' } })
  expect(await read('real/none', 'none')).toBeUndefined()
  // The folder itself may be reached by a link: the user chose it.
  const request = { root: path.join(root, 'near'), path: 'file', links: 'none' as const }
  expect(await readTextCarefully({ ...request, maxBytes: LIMIT })).toEqual({ text: 'in' })
  expect(await readCarefully({ ...request, maxBytes: 1 })).toMatchObject({ fault: { kind: 'too-large' } })
  expect(await readCarefully({ ...request, maxBytes: 2 })).toMatchObject({ bytes: Buffer.from('in') })
})

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-careful-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
