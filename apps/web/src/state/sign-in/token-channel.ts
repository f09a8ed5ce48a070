/** Tabs of one browser tell each other the token. Only pages of this very origin can hear it. */
const CHANNEL = 'chirality-sign-in'
const ASK = 'token?'
/** No other tab answers later than this. */
const ASK_MS = 1000

/** A second tab need not be signed in by hand: this one answers it. Returns how to stop, for a token that is worth nothing any more. */
export function shareToken(token: () => string): () => void {
  const channel = open()
  channel?.addEventListener('message', ({ data }) => {
    if (data === ASK) channel.postMessage({ token: token() })
  })
  return () => channel?.close()
}

/** For tabs that wait. Said only of a token that was got a moment ago: an old one, passed on, would go round in circles. */
export function announceToken(token: string): void {
  const channel = open()
  channel?.postMessage({ token })
  channel?.close()
}

export function hearToken(listener: (token: string) => void): () => void {
  const channel = open()
  channel?.addEventListener('message', ({ data }: MessageEvent<{ token?: unknown }>) => {
    if (typeof data?.token === 'string') listener(data.token)
  })
  return () => channel?.close()
}

export function askOtherTabs(): Promise<string | undefined> {
  return new Promise(resolve => {
    const done = (token: string | undefined) => {
      clearTimeout(timer)
      stop()
      resolve(token)
    }
    const timer = setTimeout(() => done(undefined), ASK_MS)
    const stop = hearToken(done)
    askForToken()
  })
}

/** Every tab that is signed in answers. */
export function askForToken(): void {
  const channel = open()
  channel?.postMessage(ASK)
  channel?.close()
}

function open(): BroadcastChannel | undefined {
  return typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(CHANNEL)
}
