import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { createFileNow, writeFileNow } from '@chirality/disk'
import { readIfThere } from './files.ts'
import { loopError } from './loop-error.ts'

/** Kinds of signed texts. A signature of one kind is invalid for another. */
export type Sealed = 'entry' | 'head' | 'own' | 'receipt'

/** The key of this machine (Ed25519), which proves its own files. */
export class Seal {
  /** Start of the public key's hash. */
  readonly id: string
  readonly #pem: string
  readonly #private: KeyObject
  readonly #public: KeyObject

  constructor(pem: string) {
    this.#pem = pem
    this.#private = createPrivateKey(pem)
    if (this.#private.asymmetricKeyType !== 'ed25519') throw new Error('It is no Ed25519 key.')
    this.#public = createPublicKey(this.#private)
    this.id = sha256(this.#public.export({ type: 'spki', format: 'der' })).slice(0, 16)
  }

  sign(kind: Sealed, text: string): string {
    return sign(null, messageOf(kind, text), this.#private).toString('base64')
  }

  /** Restores the key file after somebody changed or removed it. */
  writeTo(home: string): void {
    mkdirSync(path.dirname(keyFile(home)), { recursive: true, mode: 0o700 })
    writeFileNow(keyFile(home), this.#pem)
  }

  holds(kind: Sealed, text: string, signature: string): boolean {
    return verify(null, messageOf(kind, text), this.#public, Buffer.from(signature, 'base64'))
  }
}

export function keyFile(home: string): string {
  return path.join(home, 'keys', 'loops-ed25519.pem')
}

/** Reads the key. Undefined if it is missing or damaged, so that no signature can be checked. */
export function readSeal(home: string): Seal | undefined {
  const pem = readIfThere(keyFile(home))
  if (pem === undefined) return undefined
  try {
    return new Seal(pem)
  } catch {
    return undefined
  }
}

/** Reads the key, or makes one. A damaged file is kept, because files signed with it still exist. */
export function openSeal(home: string): Seal {
  const file = keyFile(home)
  const known = readIfThere(file)
  if (known !== undefined) return sealOf(known, file)
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  // Never replaces a key that another process made meanwhile: signatures of that process would become invalid.
  createFileNow(file, pem)
  return sealOf(readIfThere(file) ?? '', file)
}

function sealOf(pem: string, file: string): Seal {
  try {
    return new Seal(pem)
  } catch (error) {
    throw loopError(
      'loop-refused',
      `${file} is no key that this version can read. Loops are signed with it. Move it aside: the next loop makes another one, and what the old one signed cannot be checked any more.`,
      error,
    )
  }
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

function messageOf(kind: Sealed, text: string): Buffer {
  return Buffer.from(`chirality ${kind}\n${text}`)
}
