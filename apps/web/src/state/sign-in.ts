import { announceToken, askForToken, askOtherTabs, hearToken } from './token-channel.ts'

const TOKEN_KEY = 'chirality-token'
const FRAGMENT = /^#sign-in=([A-Za-z0-9_-]+)$/

export type SignIn =
  | { kind: 'signed-in'; token: string }
  | { kind: 'refused'; message: string }
  | { kind: 'none' }
  | { kind: 'unreachable' }

type SignInPage = Pick<Window, 'location' | 'history' | 'sessionStorage'>

/**
 * Trades the secret of the link for the server's token. The secret stands in the fragment, which no server and no log
 * ever sees, and is taken out of the address before anything else happens. The token lasts as long as the tab.
 */
export async function signIn(page: SignInPage = window): Promise<SignIn> {
  const secret = FRAGMENT.exec(page.location.hash)?.[1]
  if (secret === undefined) {
    const token = page.sessionStorage.getItem(TOKEN_KEY) ?? (await askOtherTabs())
    return token === undefined ? { kind: 'none' } : keepToken(token, page)
  }
  page.history.replaceState(null, '', page.location.pathname + page.location.search)
  return tradeSecret(secret, page)
}

/** By the link itself, pasted: the window of an installed app has no address bar. */
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
): SignIn {
  sessionStorage.setItem(TOKEN_KEY, token)
  return { kind: 'signed-in', token }
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

async function tradeSecret(secret: string, page: SignInPage): Promise<SignIn> {
  const response = await fetch('/api/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret }),
  }).catch(() => undefined)
  if (response === undefined) return { kind: 'unreachable' }
  if (!response.ok) return refusal(response, page)
  const { token } = (await response.json()) as { token: string }
  announceToken(token)
  return keepToken(token, page)
}

/** A link that was used already is no harm to whom it has signed in. */
function refusal(response: Response, { sessionStorage }: Pick<Window, 'sessionStorage'>): SignIn {
  const token = sessionStorage.getItem(TOKEN_KEY)
  if (token !== null) return { kind: 'signed-in', token }
  const message =
    response.status === 401
      ? 'This link was used before, or the server was started anew.'
      : 'The server refused this link.'
  return { kind: 'refused', message }
}
