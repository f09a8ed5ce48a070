import { randomBytes } from 'node:crypto'
import { stat, utimes } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { Keys } from '../guard/keys.ts'
import { createUserFile, listUserFiles, readUserFile, removeUserFile } from '../system/user-files.ts'
import { BROWSER_ID, Challenges, isSignedBy, parseBrowserKey, signInText } from './browser-key.ts'

/** A browser that may use the server. */
export interface SignedInBrowser {
  id: string
  /** Derived from its User-Agent, for example "Firefox on Linux". */
  name: string
  /** The address of the page that signed in. */
  origin: string
  addedAt: string
  lastSignInAt: string
  /** False if it has no key of its own: it is signed in until the server stops. */
  remembered: boolean
}

export interface BrowserSignIn {
  token: string
  /** Null if the browser has no key to sign in with again. */
  browser: string | null
}

interface Arrival {
  origin: string | undefined
  userAgent: string | undefined
}

/**
 * The signed-in browsers. Each has a key pair whose private half never leaves it; the data folder has the public half,
 * which is useless to anyone who reads it. With it a browser gets a new token after a restart of the server.
 */
export class SignedInBrowsers {
  readonly #home: string
  readonly #keys: Keys
  readonly #challenges = new Challenges()
  /** Browsers without a key. */
  readonly #passing = new Map<string, SignedInBrowser>()

  constructor(home: string, keys: Keys) {
    this.#home = home
    this.#keys = keys
  }

  newChallenge(): string {
    return this.#challenges.create()
  }

  /** Signs in a browser that opened a link. With a key, and from a page of this server, it stays signed in. */
  async add({ origin, userAgent }: Arrival, publicKey: string | undefined): Promise<BrowserSignIn> {
    const id = randomBytes(ID_BYTES).toString('hex')
    const now = new Date().toISOString()
    const name = browserName(userAgent)
    if (publicKey === undefined || origin === undefined) {
      const passing = { id, name, origin: origin ?? '', addedAt: now, lastSignInAt: now, remembered: false }
      this.#passing.set(id, passing)
      return { token: this.#keys.newBrowserToken(id), browser: null }
    }
    const known = await this.#withKey(origin, publicKey)
    if (known !== undefined) return { token: this.#keys.newBrowserToken(known), browser: known }
    const file: BrowserFile = { id, name, origin, addedAt: now, publicKey }
    await createUserFile(this.#home, nameOf(id), `${JSON.stringify(file)}\n`)
    await this.#forgetOldest()
    return { token: this.#keys.newBrowserToken(id), browser: id }
  }

  /** A token for a browser that proves it has its key, and calls from the address that it signed in at. */
  async comeBack(
    { id, challenge, signature }: { id: string; challenge: string; signature: string },
    origin: string | undefined,
  ): Promise<string | undefined> {
    const file = await readBrowser(this.#home, id)
    if (file === undefined || file.origin !== origin) return undefined
    const key = parseBrowserKey(file.publicKey)
    if (key === undefined || !isSignedBy(key, signInText(origin, challenge), signature)) return undefined
    if (!this.#challenges.use(challenge)) return undefined
    const now = new Date()
    try {
      // The file's modification time is when the browser was last seen: a file that was just removed is not created
      // again.
      await utimes(path.join(this.#home, nameOf(id)), now, now)
    } catch {
      return undefined
    }
    return this.#keys.newBrowserToken(id)
  }

  async list(): Promise<SignedInBrowser[]> {
    const stored = await listBrowsers(this.#home)
    return [...stored, ...this.#passing.values()].sort((a, b) => b.lastSignInAt.localeCompare(a.lastSignInAt))
  }

  /** False if there is no such browser. */
  async revoke(id: string): Promise<boolean> {
    const known = this.#passing.delete(id) || (await removeBrowser(this.#home, id))
    this.#keys.revoke(id)
    return known
  }

  /** A signed-in browser that opens another link is the same one. */
  async #withKey(origin: string, publicKey: string): Promise<string | undefined> {
    for (const { id } of await listBrowsers(this.#home)) {
      const file = await readBrowser(this.#home, id)
      if (file?.publicKey === publicKey && file.origin === origin) return id
    }
    return undefined
  }

  async #forgetOldest(): Promise<void> {
    const stored = (await listBrowsers(this.#home)).sort((a, b) =>
      b.lastSignInAt.localeCompare(a.lastSignInAt),
    )
    for (const { id } of stored.slice(MAX_BROWSERS)) await this.revoke(id)
  }
}

/** The browsers that stay signed in, also while no server runs. */
export async function listBrowsers(home: string): Promise<SignedInBrowser[]> {
  const names = await listUserFiles(home, FOLDER)
  const found = await Promise.all(
    names.map(async name => {
      const file = await readBrowser(home, path.basename(name, '.json'))
      const seen = file && (await stat(path.join(home, nameOf(file.id))).catch(() => undefined))
      if (file === undefined || seen === undefined) return []
      const { publicKey: _, ...facts } = file
      return [{ ...facts, lastSignInAt: seen.mtime.toISOString(), remembered: true }]
    }),
  )
  return found.flat()
}

export async function removeBrowser(home: string, id: string): Promise<boolean> {
  if ((await readBrowser(home, id)) === undefined) return false
  await removeUserFile(home, nameOf(id))
  return true
}

async function readBrowser(home: string, id: string): Promise<BrowserFile | undefined> {
  if (!BROWSER_ID.test(id)) return undefined
  try {
    const file = FILE.parse(JSON.parse((await readUserFile(home, nameOf(id))) ?? ''))
    return file.id === id ? file : undefined
  } catch {
    // A file that other users can write, or that is damaged, signs nobody in.
    return undefined
  }
}

const ID_BYTES = 8
const FOLDER = 'browsers'
const MAX_BROWSERS = 100

const FILE = z.object({
  id: z.string(),
  name: z.string(),
  origin: z.string(),
  addedAt: z.string(),
  publicKey: z.string(),
})
type BrowserFile = z.output<typeof FILE>

function nameOf(id: string): string {
  return path.join(FOLDER, `${id}.json`)
}

/** A short name from the `User-Agent`: "Firefox on Linux". Contains only known names, never text of the browser. */
function browserName(userAgent: string | undefined): string {
  const program = PROGRAMS.find(([mark]) => userAgent?.includes(mark))?.[1] ?? 'A browser'
  const system = SYSTEMS.find(([mark]) => userAgent?.includes(mark))?.[1]
  return system === undefined ? program : `${program} on ${system}`
}

/** The order matters: each of them also names those below it. */
const PROGRAMS: readonly (readonly [mark: string, name: string])[] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
]

const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
