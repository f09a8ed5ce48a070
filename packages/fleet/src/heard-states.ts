import type { StoredMessage } from './engine/follower.ts'
import type { Link } from './engine/link.ts'
import type { Machines } from './machines.ts'
import type { Mirror } from './mirror/mirror.ts'
import type { Carrier } from './move/carrier.ts'
import { MISSING, type RemoteSessions } from './remote-sessions.ts'
import { pingMachine } from './rpc/calls.ts'
import type { FleetSpending } from './spending.ts'
import { parseSubject } from './subjects.ts'

export interface HeardStatesOptions {
  /** Name of this machine. */
  own: string
  machines: Machines
  remote: RemoteSessions
  mirror: Mirror
  carrier: Carrier
  spending: FleetSpending
  /** True if this machine has the session. */
  has: (sessionId: string) => Promise<boolean>
}

/** Takes in what a hub hears of other machines: their beats and the states of their sessions. */
export class HeardStates {
  readonly #options: HeardStatesOptions

  constructor(options: HeardStatesOptions) {
    this.#options = options
  }

  async take(link: Link, message: StoredMessage, isLive: boolean): Promise<void> {
    const { machine, session } = parseSubject(message.subject) ?? {}
    if (machine === undefined) return
    if (session === undefined) this.#beat(link, machine, { ...message, isLive })
    else
      await this.#session(machine, session, { said: Buffer.from(message.body).toString(), seq: message.seq })
  }

  async #session(
    machine: string,
    session: string,
    { said, seq }: { said: string; seq: number },
  ): Promise<void> {
    const { own, remote, mirror, carrier, has } = this.#options
    const isEnd = said === ''
    // A copied project has the ids of its sessions; this machine answers for its own.
    const isOurs = machine === own || (await has(session))
    // The end of a session is taken even if the session is here now, because it may have come from there.
    if (!isOurs || isEnd) remote.take(machine, session, said, seq)
    // If the broker is away now, it delivers this state again after the next start.
    if (isEnd) void carrier.ended(machine, session).catch(() => {})
    else if (said !== MISSING) mirror.returned(machine, session)
  }

  #beat(link: Link, machine: string, { body, seq, isLive }: StoredMessage & { isLive: boolean }): void {
    const { own, machines, mirror, spending } = this.#options
    const beat = machines.heard(machine, body, isLive, seq)
    // The own beat counts too: a hub passes its spending on to the others.
    if (beat !== undefined) spending.heard(machine, beat.spent, isLive ? new Date() : null)
    if (machine === own) return
    // A stored beat says nothing about the present, so the machine is asked.
    const isHere = isLive ? Promise.resolve(true) : pingMachine(link, machine)
    void isHere.then(
      answers => {
        if (!answers) return
        machines.answered(machine)
        return mirror.fillHoles(machine)
      },
      () => {},
    )
  }
}
