import path from 'node:path'
import { readTextCarefully } from '@chirality/disk'

/** Reads a file of a check or an agent, which may be a FIFO or of any size. Empty if it cannot be read. */
export async function readText(root: string, file: string): Promise<string> {
  const relative = path.relative(root, path.resolve(root, file))
  const read = await readTextCarefully({ root, path: relative, links: 'inside', maxBytes: MAX_BYTES })
  return read !== undefined && 'text' in read ? read.text : ''
}

const MAX_BYTES = 64 * 1024 * 1024
