import { webcrypto } from 'node:crypto'

/** A browser as far as signing in goes, with the same calls of WebCrypto that the page makes. */
export class BrowserWithKey {
  readonly publicKey: string
  readonly #url: string
  readonly #key: webcrypto.CryptoKey

  static async create(url: string): Promise<BrowserWithKey> {
    const pair = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
    const spki = await webcrypto.subtle.exportKey('spki', pair.publicKey)
    return new BrowserWithKey(url, pair.privateKey, Buffer.from(spki).toString('base64url'))
  }

  private constructor(url: string, key: webcrypto.CryptoKey, publicKey: string) {
    this.#url = url
    this.#key = key
    this.publicKey = publicKey
  }

  async signIn(secret: string): Promise<{ token: string; browser: string | null }> {
    const response = await this.#post('/api/sign-in', { secret, key: this.publicKey })
    return (await response.json()) as { token: string; browser: string | null }
  }

  async askForChallenge(): Promise<string> {
    const response = await this.#post('/api/sign-in/challenge', {})
    return ((await response.json()) as { challenge: string }).challenge
  }

  async comeBack(
    browser: string,
    how: { challenge?: string; signedFor?: string; sentFrom?: string | null; at?: string } = {},
  ): Promise<Response> {
    const challenge = how.challenge ?? (await this.askForChallenge())
    const text = `chirality sign-in ${how.signedFor ?? this.#url} ${challenge}`
    const signed = await webcrypto.subtle.sign(
      { name: 'ECDSA', hash: 'SHA-256' },
      this.#key,
      new TextEncoder().encode(text),
    )
    const signature = Buffer.from(signed).toString('base64url')
    const sentFrom = how.sentFrom === undefined ? this.#url : how.sentFrom
    return this.#post('/api/sign-in', { browser, challenge, signature }, sentFrom, how.at)
  }

  #post(path: string, body: unknown, origin: string | null = this.#url, at = this.#url): Promise<Response> {
    return fetch(`${at}${path}`, {
      method: 'POST',
      headers: {
        ...{
          'content-type': 'application/json',
          'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
        },
        ...(origin === null ? {} : { origin }),
      },
      body: JSON.stringify(body),
    })
  }
}
