import { createHash } from 'node:crypto'
import { constants, deflateSync } from 'node:zlib'
import { type GitRepository, git } from '../git/git.ts'

/** Content with its git id. */
export interface GitObject {
  type?: keyof typeof TYPES
  id: string
  content: Buffer
}

/**
 * Stores objects in the user's repository. Many objects become one pack that is written here and verified by `git
 * index-pack`, like fetched ones: storing them one by one takes git ten times as long. The verification computes the
 * ids, so a wrong id is never stored.
 */
export async function storeObjects(repository: GitRepository, objects: readonly GitObject[]): Promise<void> {
  const [first] = objects
  if (first === undefined) return
  const args =
    objects.length > FEW_OBJECTS ? ['index-pack', '--stdin', '--threads=1'] : ['unpack-objects', '-q']
  const hash = first.id.length === 64 ? 'sha256' : 'sha1'
  await git(repository, args, { input: packOf(objects, hash), timeoutMs: TIMEOUT_MS })
}

/** Builds a pack of version 2, see gitformat-pack(5). */
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

/** Header of an entry: four bits of the size beside the type, then seven per byte, lowest first. */
function entryHead(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0x0f)]
  for (let rest = size >>> 4; rest > 0; rest >>>= 7) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

const TYPES = { commit: 1, tree: 2, blob: 3 }

/**
 * Small contents are stored uncompressed in one block: they use the same disk space, and compressing them would double
 * the time.
 */
function compressed(content: Buffer): Buffer[] {
  if (content.length > SMALL_BYTES) return [deflateSync(content, { level: constants.Z_BEST_SPEED })]
  const head = Buffer.from([0x78, 0x01, 1, 0, 0, 0, 0])
  head.writeUInt16LE(content.length, 3)
  head.writeUInt16LE(~content.length & 0xffff, 5)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(adler32(content))
  return [head, content, sum]
}

/** Checksum of at most `SMALL_BYTES` bytes: more would exceed exact integers without a remainder in between. */
function adler32(content: Buffer): number {
  let [low, high] = [1, 0]
  for (const byte of content) {
    low += byte
    high += low
  }
  return (high % ADLER) * 0x10000 + (low % ADLER)
}

const ADLER = 65_521
/** Block size of file systems. */
const SMALL_BYTES = 4096
/** The number up to which git itself unpacks fetched objects. */
const FEW_OBJECTS = 100
const TIMEOUT_MS = 5 * 60_000
