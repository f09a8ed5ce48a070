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
    const token = page.sessionStorage.getItem(TOKEN_KEY)
    return token === null ? { kind: 'none' } : { kind: 'signed-in', token }
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
