import type { Client, openStream } from '@chirality/client'
import { listServerFiles, readServerFile, type ServerFile } from '@chirality/server'
import { findProjectOwner, userDataFolder } from '@chirality/sessions'

/** A server of this user, and its calls. */
export interface LocalServer extends ServerFile {
  readonly calls: Client
  stream<Event>(
    path: string,
    options?: Parameters<typeof openStream>[2],
  ): ReturnType<typeof openStream<Event>>
}

/** Loads the client only now: most commands find no server. */
export async function connected(server: ServerFile): Promise<LocalServer> {
  const { createClient, openStream } = await import('@chirality/client')
  return {
    ...server,
    calls: createClient(server),
    stream: (path, options) => openStream(server, path, options),
  }
}

/** The server of this user at an address. Undefined if that is another program, for example a `chirality run`. */
export async function serverAt(address: string, home = userDataFolder()): Promise<LocalServer | undefined> {
  const file = await readServerFile(home, address)
  return file && connected(file)
}

/** Undefined if no process owns the project, or a `chirality run` does. */
export async function serverOf(projectRoot: string): Promise<LocalServer | undefined> {
  const owner = await findProjectOwner(projectRoot)
  return owner && serverAt(owner.address)
}

/**
 * The code of a refusal by a server; undefined for every other error. No class is asked for: `run` is bundled by itself, so
 * its classes are not those of the rest.
 */
export function refusalCode(error: unknown): string | undefined {
  const isRefusal = error instanceof Error && error.name === 'ServerRefusedError' && 'code' in error
  return isRefusal ? String(error.code) : undefined
}

/** A link that signs one browser in. Undefined if the server does not answer, or is another one by now. */
export async function newLink(server: LocalServer): Promise<{ url: string; minutes: number } | undefined> {
  try {
    return await server.calls.system.newSignInLink.mutate()
  } catch (error) {
    if (refusalCode(error) !== undefined) return undefined
    throw error
  }
}

/** The servers of this user that answer. The file of a killed one may still exist. */
export async function runningServers(home: string): Promise<LocalServer[]> {
  const files = await listServerFiles(home)
  const answers = await Promise.all(
    files.map(async file => {
      const server = await connected(file)
      const asked = server.calls.system.info.query(undefined, { signal: AbortSignal.timeout(ANSWER_MS) })
      return asked.then(
        () => [server],
        () => [],
      )
    }),
  )
  return answers.flat()
}

/** The server that has the project already, else any. */
export async function anyServerFor(project: string): Promise<LocalServer | undefined> {
  const servers = await runningServers(userDataFolder())
  for (const server of servers) {
    const known = await server.calls.projects.list.query()
    if (known.some(({ root }) => root === project)) return server
  }
  return servers[0]
}

/** A busy server on a loaded machine answers slowly. */
const ANSWER_MS = 10_000
