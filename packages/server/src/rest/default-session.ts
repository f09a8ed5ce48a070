import type { LiveSession } from '@chirality/sessions'
import { HttpError } from '../http/http-error.ts'
import type { AppServices } from '../trpc/context.ts'
import { liveSession } from '../trpc/live-session.ts'

/**
 * The session of routes that name none: made when it is first needed, in the first project, with the Messages-API agent where
 * there is one. It lasts as long as the server; after that it is a session like any other.
 */
export class DefaultSession {
  readonly #services: AppServices
  #id: Promise<string> | undefined

  constructor(services: AppServices) {
    this.#services = services
  }

  async get(): Promise<LiveSession> {
    this.#id ??= this.#create()
    try {
      return await liveSession(this.#services, await this.#id)
    } catch (error) {
      // It may have been deleted, and what failed may be mended: the next call makes another.
      this.#id = undefined
      throw error
    }
  }

  async #create(): Promise<string> {
    const { host, projects, harnesses } = this.#services
    const root = host.projects()[0] ?? (await projects.list())[0]?.root
    if (root === undefined) throw new HttpError(409, 'no-project', 'There is no project yet. Add one first.')
    const harness = harnesses.has(CORE_HARNESS) ? CORE_HARNESS : harnesses.getAll()[0]?.id
    // Its clients may not know that an agent can ask: it denies what it would have to ask for, and goes on.
    const chosen = { harness, title: 'Default', permissionMode: 'dontAsk' as const }
    const session = await host.createSession(await projects.require(root), chosen)
    return session.id
  }
}

const CORE_HARNESS = 'messages-api'
