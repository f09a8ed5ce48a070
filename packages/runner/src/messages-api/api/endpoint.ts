/** The address of the API and the credentials for it. */
export interface Endpoint {
  apiKey?: string | undefined
  /** Sent as `Authorization: Bearer`, for gateways. */
  authToken?: string | undefined
  /** Default: the vendor's address. */
  baseUrl?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

const DEFAULT_BASE_URL = 'https://api.anthropic.com'
const API_VERSION = '2023-06-01'

/** Throws a TypeError for an address or credentials that cannot be sent. The message never contains a key. */
export function checkEndpoint(endpoint: Endpoint): void {
  const secrets = [endpoint.apiKey, endpoint.authToken].filter(Boolean)
  if (secrets.length === 0) throw new TypeError('apiKey is required.')
  // `fetch` also refuses such a header, but repeats the key in its message.
  if (secrets.some(secret => /[^\x21-\x7e]/.test(secret ?? ''))) {
    throw new TypeError('The API key contains characters that are not allowed in a key. Copy it again.')
  }
  messagesUrl(endpoint)
}

export function messagesUrl({ baseUrl = DEFAULT_BASE_URL }: Endpoint): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new TypeError(`The base URL of the API is not an http or https URL: ${baseUrl}`)
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/messages`
  return url.href
}

export function requestHeaders({ apiKey, authToken, headers }: Endpoint): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'anthropic-version': API_VERSION,
    ...(apiKey ? { 'x-api-key': apiKey } : {}),
    ...(authToken ? { authorization: `Bearer ${authToken}` } : {}),
    ...headers,
  }
}
