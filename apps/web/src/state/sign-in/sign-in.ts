import {
  forgetBrowserKey,
  loadBrowserKey,
  ownBrowserKey,
  saveBrowserKey,
  signChallenge,
} from './browser-key.ts'
import { announceToken, askForToken, askOtherTabs, hearToken } from './token-channel.ts'

const TOKEN_KEY = 'chirality-token'
const FRAGMENT = /^#sign-in=([A-Za-z0-9_-]+)$/

/** Whether the address has a sign-in link, also one that was cut or has another character too many. */
export function isSignInLink(hash: string): boolean {
  return hash.startsWith('#sign-in')
}

export type SignIn =
  /** `isFresh`: the server gave it a moment ago. `refusedLink`: why a link was not taken that was not needed. */
  | { kind: 'signed-in'; token: string; isFresh: boolean; refusedLink?: string }
  | { kind: 'refused'; message: string }
  | { kind: 'none' }
  | { kind: 'unreachable' }

type SignInPage = Pick<Window, 'location' | 'history' | 'sessionStorage'>

/**
 * Trades the secret of the link for a token. The secret stands in the fragment, which no server and no log ever sees, and is
 * taken out of the address before anything else happens. A browser that was signed in before needs no link: it has a key.
 */
export async function signIn(page: SignInPage = window): Promise<SignIn> {
  const { hash, pathname, search } = page.location
  if (!isSignInLink(hash)) {
    if (unused !== undefined) return tradeSecret(unused, page)
    const kept = page.sessionStorage.getItem(TOKEN_KEY)
    if (kept !== null) return keepToken(kept, page)
    const known = await comeBack()
    if (known.kind === 'signed-in') return keepToken(known.token, page, true)
    const token = await askOtherTabs()
    return token === undefined ? known : keepToken(token, page)
  }
  page.history.replaceState(page.history.state, '', pathname + search)
  const secret = FRAGMENT.exec(hash)?.[1]
  return secret === undefined ? notTaken(NO_LINK, page) : tradeSecret(secret, page)
}

/** The secret of a link that was opened while no server answered. */
let unused: string | undefined

/** Signs in by a pasted link: the window of an installed app has no address bar. */
export async function signInByLink(link: string, page: SignInPage = window): Promise<SignIn> {
  const secret = secretOf(link, page.location.origin)
  return secret === undefined ? { kind: 'refused', message: NO_LINK } : tradeSecret(secret, page)
}

const NO_LINK =
  'This is no link of this server. It begins with the address of this page and ends with "#sign-in=…".'

/** Undefined for anything but a link to this very server. */
export function secretOf(link: string, origin: string): string | undefined {
  const text = link.trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.origin === origin ? FRAGMENT.exec(url.hash)?.[1] : undefined
}

export function keepToken(
  token: string,
  { sessionStorage }: Pick<Window, 'sessionStorage'> = window,
  isFresh = false,
): SignIn & { kind: 'signed-in' } {
  sessionStorage.setItem(TOKEN_KEY, token)
  return { kind: 'signed-in', token, isFresh }
}

const refused = new Set<string>()

/** For a token that the server did not take. A tab that has not noticed yet may still offer it. */
export function forgetToken(token: string): void {
  refused.add(token)
  sessionStorage.removeItem(TOKEN_KEY)
}

/** Waits for another tab to sign in, or to be so already. */
export function waitForToken(onToken: (token: string) => void): () => void {
  const stop = hearToken(token => {
    if (refused.has(token)) return
    stop()
    keepToken(token)
    onToken(token)
  })
  askForToken()
  return stop
}

/** Signs in again with the key of this browser, or its cookie if the key is gone. */
export async function comeBack(): Promise<SignIn> {
  const byKey = await signInByKey()
  // The server gives cookies to pages over HTTPS only. Phones delete keys after a week without a visit, and no cookies.
  if (location.protocol !== 'https:' || byKey.kind === 'signed-in' || byKey.kind === 'unreachable')
    return byKey
  const response = await post('/api/sign-in/device', {})
  if (!response?.ok) return byKey
  const { token } = (await response.json()) as { token: string }
  return { kind: 'signed-in', token, isFresh: true }
}

/** `none` where it has no key that the server knows. */
async function signInByKey(): Promise<SignIn> {
  const key = await loadBrowserKey()
  if (key === undefined || key.browser === null) return { kind: 'none' }
  const asked = await post('/api/sign-in/challenge', {})
  if (!asked?.ok) return { kind: 'unreachable' }
  const { challenge } = (await asked.json()) as { challenge: string }
  const signature = await signChallenge(key, challenge)
  const response = await post('/api/sign-in', { browser: key.browser, challenge, signature })
  if (response === undefined) return { kind: 'unreachable' }
  if (response.ok) {
    const { token } = (await response.json()) as { token: string }
    return { kind: 'signed-in', token, isFresh: true }
  }
  if (response.status !== 401) return { kind: 'unreachable' }
  await forgetBrowserKey()
  return { kind: 'refused', message: await wordsOf(response) }
}

/** Whether this browser comes back by itself after a restart of the server. */
export async function staysSignedIn(): Promise<boolean> {
  return ((await loadBrowserKey())?.browser ?? null) !== null
}

async function tradeSecret(secret: string, page: SignInPage): Promise<SignIn> {
  const key = await ownBrowserKey()
  // Kept before it is used: a link is not spent on a key that this browser cannot keep.
  const isKept = key !== undefined && (await saveBrowserKey(key))
  const response = await post('/api/sign-in', { secret, ...(isKept ? { key: key.publicKey } : {}) })
  unused = response === undefined ? secret : undefined
  if (response === undefined) return { kind: 'unreachable' }
  if (!response.ok) return notTaken(await wordsOf(response), page)
  const { token, browser } = (await response.json()) as { token: string; browser?: string | null }
  if (isKept && typeof browser === 'string') await saveBrowserKey({ ...key, browser })
  announceToken(token)
  return keepToken(token, page, true)
}

function post(path: string, body: object): Promise<Response | undefined> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined)
}

/** A link that was used already is no harm to whom it has signed in. */
async function notTaken(refusedLink: string, page: SignInPage): Promise<SignIn> {
  const token = page.sessionStorage.getItem(TOKEN_KEY)
  if (token !== null) return { ...keepToken(token, page), refusedLink }
  const known = await comeBack()
  if (known.kind === 'signed-in') return { ...keepToken(known.token, page, true), refusedLink }
  return { kind: 'refused', message: refusedLink }
}

/** Why the server refused, in its own words. */
async function wordsOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } }
    return error.message
  } catch {
    return 'The server refused this link.'
  }
}
