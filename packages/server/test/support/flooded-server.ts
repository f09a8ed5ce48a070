import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from '@chirality/fixtures/bundle-program'

export interface FloodedServer {
  url: string
  token: string
  sessionId: string
  /** Puts so many bytes of events into the log; then how large the process is. */
  flood(bytes: number): Promise<{ rssBytes: number; lastSeq: number }>
  close(): Promise<void>
}

export async function startFloodedServer(stallMs = 30_000): Promise<FloodedServer> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-flood-')))
  await mkdir(path.join(folder, 'project'))
  const program = await bundleProgram(
    fileURLToPath(new URL('../programs/flooded-server.ts', import.meta.url)),
  )
  const args = [program.file, folder, String(stallMs)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value as string)
  const closed = new Promise(resolve => child.once('close', resolve))
  return {
    ...(await next()),
    flood: (bytes: number) => {
      child.stdin.write(`${bytes}\n`)
      return next()
    },
    close: async () => {
      child.stdin.end()
      await closed
      program.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
