import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path/posix'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { fleetError } from '../fleet-error.ts'
import { shortened } from './address.ts'

/** A program that the user vouches for: a file or an https address, and the SHA-256 sum that it must have. */
export interface GivenProgram {
  from: string
  sha256: string
}

/**
 * The bytes of a program, or of the program of this name in a `.tar.gz`. Nothing is used before the sum is checked, and
 * the sum covers exactly the bytes that are returned or unpacked.
 */
export async function readGiven({ from, sha256 }: GivenProgram, name: string): Promise<Uint8Array> {
  const wanted = sha256.trim().toLowerCase()
  if (!/^[0-9a-f]{64}$/.test(wanted))
    throw refused(`${shortened(sha256)} is no SHA-256 sum: it has 64 hexadecimal digits.`)
  const bytes = /^[a-z][a-z0-9+.-]*:\/\//i.test(from) ? await download(from) : await readWhole(from)
  const sum = createHash('sha256').update(bytes).digest('hex')
  if (sum !== wanted)
    throw refused(
      `${shortened(from)} has the sum ${sum}, not ${wanted}. It is not used: it is another file, or was changed on its way.`,
    )
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return unpack(bytes, name)
  if (bytes[0] === 0x50 && bytes[1] === 0x4b)
    throw refused(`${shortened(from)} is a zip file. Take the .tar.gz of the same release.`)
  return bytes
}

async function readWhole(file: string): Promise<Buffer> {
  const info = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw refused(`${shortened(file)} cannot be read: ${error.code ?? error.message}.`)
  })
  // A pipe or a device has no end.
  if (!info.isFile()) throw refused(`${shortened(file)} is no file.`)
  return collect(createReadStream(file), file)
}

async function download(address: string): Promise<Buffer> {
  let url = address
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    if (!url.toLowerCase().startsWith('https://'))
      throw refused(`${shortened(url)} is not an https address. Only those are fetched.`)
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_MS) }).catch(
      (error: Error) => {
        const why = error.cause instanceof Error ? error.cause.message : error.message
        throw refused(`${shortened(url)} cannot be fetched: ${why}.`)
      },
    )
    const next = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && next !== null) {
      await response.body?.cancel()
      url = new URL(next, url).href
      continue
    }
    if (!response.ok || response.body === null)
      throw refused(`${shortened(url)} cannot be fetched: the server said ${response.status}.`)
    return collect(response.body as unknown as AsyncIterable<Uint8Array>, url)
  }
  throw refused(`${shortened(address)} leads to another address more than ${MAX_REDIRECTS} times.`)
}

async function collect(source: AsyncIterable<Uint8Array>, from: string): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of source) {
      size += chunk.length
      if (size > MAX_BYTES)
        throw refused(`${shortened(from)} is larger than ${MAX_BYTES / 1e6} MB: it is no nats-server.`)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'fleet-refused') throw error
    throw refused(`${shortened(from)} cannot be read: ${error instanceof Error ? error.message : error}.`)
  }
  return Buffer.concat(chunks)
}

/** Finds one file in the archive. Its name in the archive is compared and used for nothing else. */
async function unpack(archive: Uint8Array, name: string): Promise<Uint8Array> {
  const tar = await promisify(gunzip)(archive, { maxOutputLength: MAX_BYTES }).catch((error: Error) => {
    throw refused(`The archive cannot be unpacked: ${error.message}.`)
  })
  const text = (from: number, length: number) =>
    tar.toString('latin1', from, from + length).replace(/\0.*$/s, '')
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const size = Number.parseInt(text(at + 124, 12).trim() || '0', 8)
    if (!Number.isSafeInteger(size) || size < 0) break
    const isFile = ['', '0'].includes(text(at + 156, 1))
    const from = at + BLOCK
    if (isFile && basename(text(at, 100)) === name && from + size <= tar.length && size > 0)
      return tar.subarray(from, from + size)
    at = from + Math.ceil(size / BLOCK) * BLOCK
  }
  throw refused(`The archive has no ${name}.`)
}

function refused(message: string): Error {
  return fleetError('fleet-refused', message)
}

const MAX_BYTES = 200_000_000
const MAX_REDIRECTS = 5
const FETCH_MS = 600_000
const BLOCK = 512
