import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { objectId } from '../src/git/edited-tree.ts'
import { findRepository } from '../src/index.ts'
import { storeObjects } from '../src/review/object-pack.ts'

const SIZES = [0, 1, 15, 16, 17, 2047, 2048, 4095, 4096, 4097, 65_535, 65_536, 300_000]

test.each(['sha1', 'sha256'] as const)(
  'contents of any size are stored as git stores them: %s',
  async format => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-pack-')))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const root = path.join(folder, 'shop')
    execFileSync('git', ['init', '-q', '-b', 'main', `--object-format=${format}`, root])
    const repository = initRepository(root)
    const opened = await findRepository(root)
    if (opened === undefined) throw new Error('There is no repository.')
    const like = '0'.repeat(format === 'sha1' ? 40 : 64)
    const blobOf = (content: Buffer) => ({ id: objectId('blob', content, like), content })
    // The largest bytes have the largest sums.
    const sized = SIZES.flatMap(size => [Buffer.alloc(size, 0xff), Buffer.alloc(size, 'text\n')])
    const many = Array.from({ length: 150 }, (_, n) => Buffer.from(`${n}\n`.repeat(n)))
    await storeObjects(opened, sized.map(blobOf))
    await storeObjects(opened, many.map(blobOf))
    // Another time: git has them already.
    await storeObjects(opened, many.map(blobOf))
    for (const { id, content } of [...sized, ...many].map(blobOf)) {
      const options = { cwd: root, maxBuffer: 1024 * 1024 }
      expect(execFileSync('git', ['cat-file', 'blob', id], options).equals(content)).toBe(true)
    }
    expect(repository.run('fsck', '--strict', '--no-dangling')).toBe('')
  },
)
