import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface OwnerSocket {
  readonly path: string
  close(): Promise<void>
}

/** macOS takes 103 bytes, Linux 107. */
const MAX_SOCKET_PATH_BYTES = 103

/** Something only a living process has: a socket that it listens on. The kernel closes it, however the process dies. */
export async function openOwnerSocket(folder: string): Promise<OwnerSocket> {
  const inFolder = join(folder, `${randomBytes(6).toString('hex')}.sock`)
  if (Buffer.byteLength(inFolder) <= MAX_SOCKET_PATH_BYTES) return listen(inFolder)
  const elsewhere = await mkdtemp(join(tmpdir(), 'chirality-'))
  const remove = () => rm(elsewhere, { recursive: true, force: true })
  try {
    const socket = await listen(join(elsewhere, 'lock.sock'))
    return { path: socket.path, close: () => socket.close().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

async function listen(path: string): Promise<OwnerSocket> {
  const server = createServer(connection => connection.destroy())
  server.listen(path)
  await once(server, 'listening')
  // Later errors concern single connections; nobody is there to hear of them.
  server.on('error', () => {})
  server.unref()
  return {
    path,
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}
