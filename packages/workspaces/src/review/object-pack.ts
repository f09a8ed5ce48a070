import { createHash } from 'node:crypto'
import { constants, deflateSync } from 'node:zlib'
import { type GitRepository, git } from '../git/git.ts'

/** A content with the id that git gives it. */
export interface GitObject {
  type?: keyof typeof TYPES
  id: string
  content: Buffer
}

/**
 * Stores objects in the user's repository. Many become one pack that is written here and checked by `git index-pack`, as
 * git stores what it fetches: a git that stores them itself takes ten times as long, for a file or a compression each.
 * A content that has not the id does not get it.
 */
export async function storeObjects(repository: GitRepository, objects: readonly GitObject[]): Promise<void> {
  const [first] = objects
  if (first === undefined) return
  const args =
    objects.length > FEW_OBJECTS ? ['index-pack', '--stdin', '--threads=1'] : ['unpack-objects', '-q']
  const hash = first.id.length === 64 ? 'sha256' : 'sha1'
  await git(repository, args, { input: packOf(objects, hash), timeoutMs: TIMEOUT_MS })
}

/** Version 2 of the format, see gitformat-pack(5). */
function packOf(objects: readonly GitObject[], hash: 'sha1' | 'sha256'): Buffer {
  const head = Buffer.alloc(12)
  head.write('PACK')
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(objects.length, 8)
  const parts: Buffer[] = [head]
  for (const { type = 'blob', content } of objects)
    parts.push(entryHead(TYPES[type], content.length), ...compressed(content))
  const pack = Buffer.concat(parts)
  return Buffer.concat([pack, createHash(hash).update(pack).digest()])
}

/** Four bits of the size beside the type, then seven in each byte, the lowest first. */
function entryHead(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0x0f)]
  for (let rest = size >>> 4; rest > 0; rest >>>= 7) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

const TYPES = { commit: 1, tree: 2, blob: 3 }

/** A small content stays as it is, in one block: by itself it would use as much of the disk, and to compress it takes as long as all the rest. */
function compressed(content: Buffer): Buffer[] {
  if (content.length > SMALL_BYTES) return [deflateSync(content, { level: constants.Z_BEST_SPEED })]
  const head = Buffer.from([0x78, 0x01, 1, 0, 0, 0, 0])
  head.writeUInt16LE(content.length, 3)
  head.writeUInt16LE(~content.length & 0xffff, 5)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(adler32(content))
  return [head, content, sum]
}

/** Of at most `SMALL_BYTES`: more would not fit into the exact integers without a remainder in between. */
function adler32(content: Buffer): number {
  let [low, high] = [1, 0]
  for (const byte of content) {
    low += byte
    high += low
  }
  return (high % ADLER) * 0x10000 + (low % ADLER)
}

const ADLER = 65_521
/** A file system keeps a file in blocks of this size. */
const SMALL_BYTES = 4096
/** As many as git itself stores one by one when it fetches. */
const FEW_OBJECTS = 100
const TIMEOUT_MS = 5 * 60_000
