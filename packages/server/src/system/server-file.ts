import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { readUserFile, writeUserFile } from './user-files.ts'

/** What the command line needs to use a server that runs: kept for the user only. */
export interface ServerFile {
  url: string
  token: string
  pid: number
}

export async function writeServerFile(home: string, server: ServerFile): Promise<void> {
  await writeUserFile(home, nameOf(server.url), `${JSON.stringify(server)}\n`)
}

/** Undefined when no server of this user has that address, as far as one can know. */
export async function readServerFile(home: string, url: string): Promise<ServerFile | undefined> {
  try {
    // One that others can write could name another server, and send our token there: it is not read.
    const server = FILE.parse(JSON.parse((await readUserFile(home, nameOf(url))) ?? ''))
    return server.url === url ? server : undefined
  } catch {
    return undefined
  }
}

/** What cannot be removed is worth nothing once the server is gone. */
export async function removeServerFile(home: string, url: string): Promise<void> {
  await rm(path.join(home, nameOf(url)), { force: true }).catch(() => {})
}

const FILE = z.object({ url: z.string(), token: z.string(), pid: z.number() })

function nameOf(url: string): string {
  return path.join('servers', `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`)
}
