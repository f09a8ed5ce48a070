import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

/** Writes `<file>.br` and `<file>.gz` beside each text of the build: the server sends them as they are, and compresses nothing itself. */
export function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    enforce: 'post',
    writeBundle: {
      order: 'post',
      sequential: true,
      async handler({ dir = '' }, bundle) {
        const texts = Object.keys(bundle).filter(name => TEXT.test(name))
        await Promise.all(texts.map(name => compressFile(path.join(dir, name))))
      },
    },
  }
}

async function compressFile(file: string): Promise<void> {
  const bytes = await readFile(file)
  if (bytes.length < MIN_BYTES) return
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  await writeFile(`${file}.br`, await toBrotli(bytes, { params }))
  await writeFile(`${file}.gz`, await toGzip(bytes, { level: 9 }))
}

const TEXT = /\.(js|css|html|svg|json)$/
/** Less fits into one packet anyway. */
const MIN_BYTES = 1024
