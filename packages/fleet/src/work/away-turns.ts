import { join } from 'node:path'
import type { PermissionRequestEvent } from '@chirality/core'
import type { SessionHost } from '@chirality/sessions'
import { Claims } from '../claim/claims.ts'
import { WorkGroups } from '../claim/groups.ts'
import { fleetFolder } from '../engine/fleet-files.ts'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import type { RemoteSessions } from '../remote-sessions.ts'
import { askWork } from '../rpc/calls.ts'
import { SessionCraft, type TurnOrder } from './session-craft.ts'
import { WorkBoard, type WorkEnd } from './work-board.ts'
import { WorkDesk } from './work-desk.ts'

/** A turn of a session of this hub that another machine runs. */
export interface AwayTurn {
  /**
   * Stable id of the turn, also across processes. Starts with the group, then lower-case letters, digits and dashes.
   */
  id: string
  /** Groups turns whose claims are removed together. */
  group: string
  sessionId: string
  agent: string
  /** Folder of the project on this hub. */
  project: string
  labels: readonly string[]
  order: Omit<TurnOrder, 'session'>
  signal: AbortSignal
  /** True when this process ends and the turn does not. */
  isLeft: () => boolean
  onPlaced?: (machine: string, why: string) => void
  onWaits?: (why: string) => void
  onPending?: (request: PermissionRequestEvent | undefined) => boolean
}

export interface AwayTurnsOptions {
  own: string
  link: () => Link | undefined
  machines: () => Machine[]
  /** The user's data folder. */
  home: string
  move: (sessionId: string, to: string) => Promise<unknown>
  /** True if this machine has the session. */
  has: (sessionId: string) => Promise<boolean>
  /** True if a move of a session of this machine has started and not ended. */
  isLeaving: (sessionId: string) => boolean
  remote: Pick<RemoteSessions, 'get'>
  onFault?: ((error: unknown) => void) | undefined
}

/** Runs turns on other machines: the session moves there with its files, and returns with the result. */
export class AwayTurns {
  readonly #options: AwayTurnsOptions
  readonly #board: WorkBoard
  readonly #groups: WorkGroups

  constructor(options: AwayTurnsOptions) {
    this.#options = options
    const { own, link, machines, home, onFault } = options
    const file = join(fleetFolder(home), 'groups.json')
    this.#groups = new WorkGroups({ own, file, store: link, onFault })
    this.#board = new WorkBoard({
      own,
      machines,
      store: link,
      ask: (machine, step) => askWork(link(), machine, step),
    })
  }

  /** The machine that has the session, if it is another one. */
  machineOf(sessionId: string): string | undefined {
    return this.#options.remote.get(sessionId)?.machine
  }

  /** Last reported cost of a session on another machine. */
  spentOn(sessionId: string): { usd: number | null; isEstimate: boolean; tokens: number } | undefined {
    const remote = this.#options.remote.get(sessionId)
    if (remote === undefined) return undefined
    const { costUsd: usd, costIsEstimate: isEstimate, tokens } = remote.status ?? remote.session
    return { usd, isEstimate, tokens }
  }

  /** Runs the turns that hubs give to this machine. */
  desk(link: Link, host: SessionHost): WorkDesk {
    const { own: machine, home } = this.#options
    return new WorkDesk({
      machine,
      folder: join(fleetFolder(home), 'work'),
      craft: new SessionCraft(host),
      claims: new Claims(link, machine),
    })
  }

  /**
   * Groups with turns that were not ended. `project` is that of the first turn, or null if this hub lost its file.
   * Throws if the file cannot be read.
   */
  groups(): { group: string; project: string | null }[] {
    return this.#groups.list()
  }

  /** Ends a group that has no turn away and will get none: the brokers forget it. */
  end(group: string): Promise<void> {
    return this.#groups.end(group)
  }

  /** Purges ended groups. Called repeatedly on a hub. */
  goOn(): void {
    this.#groups.finishSoon()
  }

  /** Closes the claim of a finished turn whose session is here. */
  close(id: string, isLeft: () => boolean): Promise<'closed' | 'none' | 'left'> {
    return this.#board.close(id, isLeft)
  }

  async run(turn: AwayTurn): Promise<WorkEnd> {
    const { own, move, has, isLeaving } = this.#options
    const { id, group, sessionId: session, agent, project, labels, order, ...watch } = turn
    // The prefix finds the claims of a group that is over.
    if (!id.startsWith(`${group}-`))
      throw fleetError('work-stale', `${id} is not an id in the group ${group}.`)
    const isHere = async () => (await has(session)) && !isLeaving(session)
    return this.#board.run(
      {
        id,
        needs: { agent, project, labels },
        order: { session, ...order },
        group: () => this.#groups.open(group, project),
        carry: async machine => {
          if (!(await has(session))) return
          // A killed process started the move. The hub finishes or reverts it, and then the place of the session is
          // known.
          if (isLeaving(session)) throw onItsWay()
          await move(session, machine)
          // The call only finished an earlier move.
          if (await has(session)) throw onItsWay()
        },
        fetch: async () => {
          if (!(await has(session))) await move(session, own)
          if (!(await isHere())) throw onItsWay()
        },
        isHere,
      },
      watch,
    )
  }
}

function onItsWay() {
  return fleetError(
    'machine-silent',
    'The session is being moved between two machines. The move is tried again.',
  )
}
