/** The key by which this browser is known to the server. Its private half cannot be read, not even by this page: only used. */
export interface BrowserKey {
  /** Null until the server has taken it. */
  browser: string | null
  privateKey: CryptoKey
  publicKey: string
}

/** The one that this browser has, or a new one. Undefined where browsers keep none: over plain HTTP from elsewhere, in some private windows. */
export async function ownBrowserKey(): Promise<BrowserKey | undefined> {
  return (await loadBrowserKey()) ?? createBrowserKey()
}

export async function loadBrowserKey(): Promise<BrowserKey | undefined> {
  try {
    const found = await inStore('readonly', store => store.get(ENTRY))
    return found as BrowserKey | undefined
  } catch {
    return undefined
  }
}

/** False where it cannot be kept. */
export async function saveBrowserKey(key: BrowserKey): Promise<boolean> {
  try {
    await inStore('readwrite', store => store.put(key, ENTRY))
    return true
  } catch {
    return false
  }
}

export async function forgetBrowserKey(): Promise<void> {
  await inStore('readwrite', store => store.delete(ENTRY)).catch(() => undefined)
}

/** Signature that the server checks with the public half. It covers the origin: at another address it is worth nothing. */
export async function signChallenge({ privateKey }: BrowserKey, challenge: string): Promise<string> {
  const text = new TextEncoder().encode(`chirality sign-in ${location.origin} ${challenge}`)
  return base64Url(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, text))
}

async function createBrowserKey(): Promise<BrowserKey | undefined> {
  try {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
    const publicKey = base64Url(await crypto.subtle.exportKey('spki', pair.publicKey))
    return { browser: null, privateKey: pair.privateKey, publicKey }
  } catch {
    return undefined
  }
}

const DATABASE = 'chirality'
const STORE = 'sign-in'
const ENTRY = 'key'

async function inStore(
  mode: IDBTransactionMode,
  ask: (store: IDBObjectStore) => IDBRequest,
): Promise<unknown> {
  const opening = indexedDB.open(DATABASE, 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE)
  const database = await done(opening)
  try {
    return await done(ask(database.transaction(STORE, mode).objectStore(STORE)))
  } finally {
    database.close()
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

function base64Url(bytes: ArrayBuffer): string {
  const text = String.fromCharCode(...new Uint8Array(bytes))
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
