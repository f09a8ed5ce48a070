import { comeBack, keepToken } from './sign-in.ts'

/**
 * The token of this page. A server that was started anew knows none of the old ones, so before each connection it is asked
 * whether it still takes this one; if not, the key of this browser gets another, and the page goes on where it was.
 */
export class TokenKeeper {
  #token: string
  #isFresh: boolean

  constructor(token: string, { isFresh }: { isFresh: boolean }) {
    this.#token = token
    this.#isFresh = isFresh
  }

  get token(): string {
    return this.#token
  }

  /** For a connection that is being made. Where nothing better is known it is the old one, which the server then refuses. */
  async current(): Promise<string> {
    const isFresh = this.#isFresh
    this.#isFresh = false
    if (isFresh || !(await isRefused(this.#token))) return this.#token
    const result = await comeBack()
    if (result.kind === 'signed-in') {
      this.#token = result.token
      keepToken(result.token)
    }
    return this.#token
  }
}

async function isRefused(token: string): Promise<boolean> {
  try {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch('/trpc/system.info', { headers, cache: 'no-store' })).status === 401
  } catch {
    return false
  }
}
