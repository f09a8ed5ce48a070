import { createLiveClient, type LiveClient } from '@chirality/client'
import { toasts } from '../ui/overlay/toast-store.ts'
import { FleetStore } from './fleet/fleet-store.ts'
import { followFleet } from './fleet/follow-fleet.ts'
import { SessionHub } from './session/session-hub.ts'
import { forgetToken } from './sign-in/sign-in.ts'
import { shareToken } from './sign-in/token-channel.ts'
import { TokenKeeper } from './sign-in/token-keeper.ts'

/**
 * What a page that is signed in lives on, until the server refuses its token. It needs no React: the sessions, and the log of
 * the one that the address names, are on their way while the code that draws them is still fetched and compiled.
 */
export class Connection {
  readonly live: LiveClient
  readonly fleet = new FleetStore()
  readonly hub: SessionHub
  readonly token: string
  /** Resolves when the server takes the token no more. Nothing is followed then. */
  readonly refused: Promise<void>
  /** A file of the HTTP API. */
  readonly download: (path: string) => Promise<Blob>

  constructor(signedIn: { token: string; isFresh: boolean }, place: ConnectionPlace = location) {
    this.token = signedIn.token
    const keeper = new TokenKeeper(signedIn.token, signedIn)
    const url = `${place.protocol === 'https:' ? 'wss' : 'ws'}://${place.host}/trpc`
    let refuse = () => {}
    this.refused = new Promise(resolve => {
      refuse = resolve
    })
    this.live = createLiveClient({
      url,
      token: () => keeper.current(),
      onRefused: () => {
        forgetToken(keeper.token)
        stopSharing()
        stopFollowing()
        refuse()
      },
    })
    this.download = async path => {
      const answer = await fetch(path, { headers: { authorization: `Bearer ${await keeper.current()}` } })
      if (!answer.ok) throw new Error(`The server could not export it (${answer.status}).`)
      return answer.blob()
    }
    const stopSharing = shareToken(() => keeper.token)
    this.hub = new SessionHub(this.live, message => toasts.error(message))
    const stopFollowing = followFleet(this.live, this.fleet)
    openAhead(this, sessionOf(place.pathname))
  }
}

type ConnectionPlace = Pick<Location, 'protocol' | 'host' | 'pathname'>

/** Time after which its page follows the session, or another one was opened. */
const AHEAD_MS = 10_000

/** Follows the session as soon as its length is known, for the page that is about to. */
function openAhead({ fleet, hub }: Connection, sessionId: string | undefined): void {
  if (sessionId === undefined) return
  const stopWaiting = fleet.subscribe(() => {
    const status = fleet.get(sessionId)
    if (status === undefined) return
    stopWaiting()
    setTimeout(hub.follow(sessionId, status.lastSeq), AHEAD_MS)
  })
}

/** The session that an address of the router is about. */
export function sessionOf(pathname: string): string | undefined {
  const named = /^\/s\/([^/]+)/.exec(pathname)?.[1]
  try {
    return named === undefined ? undefined : decodeURIComponent(named)
  } catch {
    return undefined
  }
}
