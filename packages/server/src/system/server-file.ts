import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { listUserFiles, readUserFile, writeUserFile } from '@chirality/centre'
import { z } from 'zod'

/** The facts that the command line needs to use a running server; readable by the user only. */
export interface ServerFile {
  url: string
  token: string
  pid: number
}

export async function writeServerFile(home: string, server: ServerFile): Promise<void> {
  await writeUserFile(home, nameOf(server.url), `${JSON.stringify(server)}\n`)
}

/** The servers of this user that run, or were killed before they could remove their file. */
export async function listServerFiles(home: string): Promise<ServerFile[]> {
  const names = await listUserFiles(home, FOLDER)
  const files = await Promise.all(names.map(name => readIn(home, path.join(FOLDER, name))))
  return files.filter(file => file !== undefined)
}

/** Undefined if no known server of this user has that address. */
export async function readServerFile(home: string, url: string): Promise<ServerFile | undefined> {
  const server = await readIn(home, nameOf(url))
  return server?.url === url ? server : undefined
}

async function readIn(home: string, name: string): Promise<ServerFile | undefined> {
  try {
    // A file that other users can write could name another server and reveal the token to it, so it is not read.
    return FILE.parse(JSON.parse((await readUserFile(home, name)) ?? ''))
  } catch {
    return undefined
  }
}

/** A file that cannot be removed is useless once the server has stopped. */
export async function removeServerFile(home: string, url: string): Promise<void> {
  await rm(path.join(home, nameOf(url)), { force: true }).catch(() => {})
}

const FILE = z.object({ url: z.string(), token: z.string(), pid: z.number() })

const FOLDER = 'servers'

function nameOf(url: string): string {
  return path.join(FOLDER, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`)
}
