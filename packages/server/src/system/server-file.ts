import { createHash } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { writePrivateFile } from '../projects/write-private-file.ts'

/** What the command line needs to use a server that runs: kept for the user only. */
export interface ServerFile {
  url: string
  token: string
  pid: number
}

export async function writeServerFile(home: string, server: ServerFile): Promise<void> {
  await writePrivateFile(fileOf(home, server.url), `${JSON.stringify(server)}\n`)
}

/** Undefined when no server of this user has that address, as far as one can know. */
export async function readServerFile(home: string, url: string): Promise<ServerFile | undefined> {
  const file = fileOf(home, url)
  try {
    const { mode, uid } = await stat(file)
    // A file that others can write could name another server's token, and send ours there.
    if ((mode & 0o077) !== 0 || (process.geteuid !== undefined && uid !== process.geteuid())) return undefined
    const server = FILE.parse(JSON.parse(await readFile(file, 'utf8')))
    return server.url === url ? server : undefined
  } catch {
    return undefined
  }
}

export async function removeServerFile(home: string, url: string): Promise<void> {
  await rm(fileOf(home, url), { force: true })
}

const FILE = z.object({ url: z.string(), token: z.string(), pid: z.number() })

function fileOf(home: string, url: string): string {
  const name = createHash('sha256').update(url).digest('hex').slice(0, 16)
  return path.join(home, 'servers', `${name}.json`)
}
