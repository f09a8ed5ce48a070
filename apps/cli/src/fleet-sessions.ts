import { existsSync } from 'node:fs'
import path from 'node:path'
import type { RemoteSession, ServerFile } from '@chirality/server'
import { type SearchOptions, type SearchResult, userDataFolder } from '@chirality/sessions'
import { UsageError } from './exit-code.ts'
import { callProcedure, runningServers } from './running-server.ts'

/** Sessions of other machines, as this hub last heard of them. Nothing of a fleet is loaded without one. */
export async function sessionsOfFleet(): Promise<RemoteSession[]> {
  const stored = await storedFleet()
  if (stored === undefined) return []
  const { remoteSessions } = await import('@chirality/server')
  return remoteSessions(stored)
}

/** The folder with the mirrored logs of a machine. */
export async function mirrorRoot(machine: string): Promise<string> {
  const { mirrorsFolder } = await import('@chirality/fleet')
  return path.join(mirrorsFolder(userDataFolder()), machine)
}

/** Adds what the conversations of other machines have. */
export async function withFleet(
  own: SearchResult,
  options: Omit<SearchOptions, 'projectRoot'>,
): Promise<SearchResult> {
  const stored = await storedFleet()
  if (stored === undefined) return own
  const { searchMirrors, withMirrored } = await import('@chirality/server')
  return withMirrored(own, await searchMirrors(stored, options), options.limit)
}

/** The server of this user that reaches the machines of the fleet. */
export async function hubServer(machine: string): Promise<ServerFile> {
  for (const server of await runningServers(userDataFolder())) {
    const info = await callProcedure<object | null>(server, 'fleet.info')
    if (info !== null) return server
  }
  throw new UsageError(
    `This session is on the machine ${machine}, and no hub runs here that could reach it. Start it: chirality serve --fleet URL.`,
  )
}

async function storedFleet() {
  const home = userDataFolder()
  if (!existsSync(path.join(home, 'fleet'))) return undefined
  const { storedRemoteSessions, mirrorsFolder } = await import('@chirality/fleet')
  return {
    sessions: () => storedRemoteSessions(home),
    mirrorRoot: (machine: string) => path.join(mirrorsFolder(home), machine),
  }
}
