const TOKEN_KEY = 'chirality-token'
const FRAGMENT = /^#sign-in=([A-Za-z0-9_-]+)$/

export type SignIn =
  | { kind: 'signed-in'; token: string }
  | { kind: 'refused'; message: string }
  | { kind: 'none' }

/**
 * Trades the secret of the link for the server's token. The secret stands in the fragment, which no server and no log
 * ever sees, and is taken out of the address before anything else happens. The token lasts as long as the tab.
 */
export async function signIn(
  page: Pick<Window, 'location' | 'history' | 'sessionStorage'> = window,
): Promise<SignIn> {
  const secret = FRAGMENT.exec(page.location.hash)?.[1]
  if (secret === undefined) {
    const token = page.sessionStorage.getItem(TOKEN_KEY) ?? (await askOtherTabs())
    if (token === undefined) return { kind: 'none' }
    page.sessionStorage.setItem(TOKEN_KEY, token)
    return { kind: 'signed-in', token }
  }
  page.history.replaceState(null, '', page.location.pathname + page.location.search)
  const response = await fetch('/api/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret }),
  })
  if (!response.ok) return refusal(response, page)
  const { token } = (await response.json()) as { token: string }
  page.sessionStorage.setItem(TOKEN_KEY, token)
  return { kind: 'signed-in', token }
}

/** A second tab need not be signed in by hand: the first one tells it. Only pages of this very origin can hear it. */
export function shareToken(token: string): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', ({ data }) => {
    if (data === ASK) channel.postMessage({ token })
  })
}

const CHANNEL = 'chirality-sign-in'
const ASK = 'token?'
/** No other tab answers later than this. */
const ASK_MS = 1000

function askOtherTabs(): Promise<string | undefined> {
  if (typeof BroadcastChannel === 'undefined') return Promise.resolve(undefined)
  return new Promise(resolve => {
    const channel = new BroadcastChannel(CHANNEL)
    const done = (token: string | undefined) => {
      clearTimeout(timer)
      channel.close()
      resolve(token)
    }
    const timer = setTimeout(() => done(undefined), ASK_MS)
    channel.addEventListener('message', ({ data }: MessageEvent<{ token?: unknown }>) => {
      if (typeof data?.token === 'string') done(data.token)
    })
    channel.postMessage(ASK)
  })
}

export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN_KEY)
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
