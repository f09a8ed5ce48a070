import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { listUserFiles, readUserFile, writeUserFile } from './user-files.ts'

/** What the command line needs to use a server that runs: kept for the user only. */
export interface ServerFile {
  url: string
  token: string
  pid: number
}

export async function writeServerFile(home: string, server: ServerFile): Promise<void> {
  await writeUserFile(home, nameOf(server.url), `${JSON.stringify(server)}\n`)
}

/** The servers of this user that run, or were killed and could not take their file away. */
export async function listServerFiles(home: string): Promise<ServerFile[]> {
  const names = await listUserFiles(home, FOLDER)
  const files = await Promise.all(names.map(name => readIn(home, path.join(FOLDER, name))))
  return files.filter(file => file !== undefined)
}

/** Undefined when no server of this user has that address, as far as one can know. */
export async function readServerFile(home: string, url: string): Promise<ServerFile | undefined> {
  const server = await readIn(home, nameOf(url))
  return server?.url === url ? server : undefined
}

async function readIn(home: string, name: string): Promise<ServerFile | undefined> {
  try {
    // One that others can write could name another server, and send our token there: it is not read.
    return FILE.parse(JSON.parse((await readUserFile(home, name)) ?? ''))
  } catch {
    return undefined
  }
}

/** What cannot be removed is worth nothing once the server is gone. */
export async function removeServerFile(home: string, url: string): Promise<void> {
  await rm(path.join(home, nameOf(url)), { force: true }).catch(() => {})
}

const FILE = z.object({ url: z.string(), token: z.string(), pid: z.number() })

const FOLDER = 'servers'

function nameOf(url: string): string {
  return path.join(FOLDER, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`)
}
