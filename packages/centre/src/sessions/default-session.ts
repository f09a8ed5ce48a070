import { DEFAULT_MAX_TURNS } from '@chirality/core'
import type { Centre } from '../centre.ts'
import { callError } from '../errors.ts'
import { liveSession } from './live-session.ts'

/**
 * The session of callers that name none: created when it is first needed, in the first project, preferably with the
 * agent that needs no program. It is the default until the process ends; after that it is a session like any other.
 */
export class DefaultSession {
  readonly #centre: Centre
  #id: Promise<string> | undefined

  constructor(centre: Centre) {
    this.#centre = centre
  }

  /** The id of the session. */
  async get(): Promise<string> {
    this.#id ??= this.#create()
    try {
      return (await liveSession(this.#centre, await this.#id)).id
    } catch (error) {
      // The session may have been deleted, and an error may be fixed by now: the next call creates another.
      this.#id = undefined
      throw error
    }
  }

  async #create(): Promise<string> {
    const { host, projects, harnesses } = this.#centre
    const root = host.projects()[0] ?? (await projects.list())[0]?.root
    if (root === undefined) throw callError('no-project', 'There is no project yet. Add one first.')
    const all = harnesses.getAll()
    const harness = (all.find(one => one.meta().install === undefined) ?? all[0])?.id
    const session = await host.createSession(await projects.require(root), {
      harness,
      title: 'Default',
      // Its clients may not handle permission requests: they are denied, and the turn goes on.
      permissionMode: 'dontAsk',
      // Nobody may watch it, so it has a limit of rounds.
      maxTurns: DEFAULT_MAX_TURNS,
    })
    return session.id
  }
}
