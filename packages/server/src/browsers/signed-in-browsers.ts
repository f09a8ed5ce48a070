import { randomBytes } from 'node:crypto'
import { stat, utimes } from 'node:fs/promises'
import path from 'node:path'
import {
  BROWSER_ID,
  listUserFiles,
  readUserFile,
  removeUserFile,
  type SignedInBrowser,
  writeUserFile,
} from '@chirality/centre'
import { z } from 'zod'
import type { Keys } from '../guard/keys.ts'
import { Challenges, isSignedBy, parseBrowserKey, signInText } from './browser-key.ts'
import { type DeviceCookie, digestOfSecret, isSecretOf, newDeviceSecret } from './device-cookie.ts'

export interface BrowserSignIn {
  token: string
  /** Null if the browser has nothing to sign in with again. */
  browser: string | null
  /** For a page over HTTPS. */
  cookie?: DeviceCookie
}

interface Arrival {
  origin: string | undefined
  userAgent: string | undefined
  address: string | null
}

/**
 * The signed-in browsers. Each has a key pair whose private half never leaves it; the data folder has the public half,
 * which is useless to anyone who reads it. With it a browser gets a new token after a restart of the server. Over HTTPS
 * it also has a cookie: phones delete what a page stores, keys included, after a week without a visit.
 */
export class SignedInBrowsers {
  readonly #home: string
  readonly #keys: Keys
  readonly #challenges = new Challenges()
  /** Browsers with neither a key nor a cookie. */
  readonly #passing = new Map<string, Omit<SignedInBrowser, 'lastSeenAt' | 'isConnected' | 'remembered'>>()

  /** The address of each browser's last sign-in in this run of the server. */
  readonly #addresses = new Map<string, string | null>()

  constructor(home: string, keys: Keys) {
    this.#home = home
    this.#keys = keys
  }

  newChallenge(): string {
    return this.#challenges.create()
  }

  /** Signs in a browser that opened a link. With a key, or from a page over HTTPS, it stays signed in. */
  async add({ origin, userAgent, address }: Arrival, publicKey: string | undefined): Promise<BrowserSignIn> {
    const now = new Date().toISOString()
    const name = browserName(userAgent)
    const known = origin && publicKey ? await this.#withKey(origin, publicKey) : undefined
    const id = known?.id ?? randomBytes(ID_BYTES).toString('hex')
    const token = this.#keys.newBrowserToken(id)
    const cookie = origin?.startsWith('https://') ? { id, secret: newDeviceSecret() } : undefined
    if (origin === undefined || (publicKey === undefined && cookie === undefined)) {
      this.#passing.set(id, { id, name, origin: origin ?? '', addedAt: now, lastSignInAt: now, address })
      return { token, browser: null }
    }
    const file: BrowserFile = {
      ...(known ?? { id, name, origin, addedAt: now }),
      publicKey,
      address,
      ...(cookie === undefined ? {} : { cookie: digestOfSecret(cookie.secret) }),
    }
    await writeUserFile(this.#home, nameOf(id), `${JSON.stringify(file)}\n`)
    await this.#forgetOldest()
    return { token, browser: id, cookie }
  }

  /** A token for a browser that proves it has its key, and calls from the address that it signed in at. */
  async comeBack(
    { id, challenge, signature }: { id: string; challenge: string; signature: string },
    { origin, address }: Pick<Arrival, 'origin' | 'address'>,
  ): Promise<string | undefined> {
    const file = await readBrowser(this.#home, id)
    if (file?.publicKey === undefined || file.origin !== origin) return undefined
    const key = parseBrowserKey(file.publicKey)
    if (key === undefined || !isSignedBy(key, signInText(origin, challenge), signature)) return undefined
    if (!this.#challenges.use(challenge)) return undefined
    return this.#return(id, address)
  }

  /** A token for a device that sends its cookie from a page of the address that it signed in at. */
  async comeBackByCookie(
    cookie: DeviceCookie,
    { origin, address }: Pick<Arrival, 'origin' | 'address'>,
  ): Promise<string | undefined> {
    const file = await readBrowser(this.#home, cookie.id)
    if (file?.cookie === undefined || file.origin !== origin) return undefined
    return isSecretOf(file.cookie, cookie.secret) ? this.#return(cookie.id, address) : undefined
  }

  async #return(id: string, address: string | null): Promise<string | undefined> {
    const now = new Date()
    try {
      // The file's modification time is when the browser last signed in: a file that was just removed is not created
      // again.
      await utimes(path.join(this.#home, nameOf(id)), now, now)
    } catch {
      return undefined
    }
    this.#addresses.set(id, address)
    return this.#keys.newBrowserToken(id)
  }

  /** The most recently seen first. */
  async list(): Promise<SignedInBrowser[]> {
    const passing = [...this.#passing.values()].map(browser => ({ ...browser, remembered: false }))
    return [...(await listBrowsers(this.#home)), ...passing]
      .map(browser => {
        const { usedAt, isConnected } = this.#keys.useOf(browser.id)
        const seen = Math.max(usedAt ?? 0, Date.parse(browser.lastSignInAt))
        const address = this.#addresses.get(browser.id) ?? browser.address
        return { ...browser, address, isConnected, lastSeenAt: new Date(seen).toISOString() }
      })
      .sort((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt))
  }

  /** False if there is no such browser. */
  async revoke(id: string): Promise<boolean> {
    const known = this.#passing.delete(id) || (await removeBrowser(this.#home, id))
    this.#keys.revoke(id)
    this.#addresses.delete(id)
    return known
  }

  /** A signed-in browser that opens another link is the same one. */
  async #withKey(origin: string, publicKey: string): Promise<BrowserFile | undefined> {
    for (const { id } of await listBrowsers(this.#home)) {
      const file = await readBrowser(this.#home, id)
      if (file?.publicKey === publicKey && file.origin === origin) return file
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
      const { id, name: called, origin, addedAt, address = null } = file
      const lastSignInAt = seen.mtime.toISOString()
      const facts = { id, name: called, origin, addedAt, address, lastSignInAt, lastSeenAt: lastSignInAt }
      return [{ ...facts, remembered: true, isConnected: false }]
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
  address: z.string().nullable().optional(),
  publicKey: z.string().optional(),
  /** The digest of its cookie's secret. */
  cookie: z.string().optional(),
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
