import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { type AgentFolder, makeAgents } from './agents.ts'
import type { Hello, ServerCommand } from './serve-bench.ts'

export type Variant = 'product' | 'limit'

export interface Load {
  agents: number
  perSecond: number
  seconds: number
}

export interface LoadResult {
  /** From the agent's write to the client, in ms. */
  latencies: number[]
  /** Of the server while the agents spoke. */
  cpuMs: number
  lost: number
}

/** Lets agents speak through a server to one client, and notes how late it all comes. */
export async function runLoad(variant: Variant, load: Load): Promise<LoadResult> {
  const folder = makeAgents()
  const server = fork(programOf(`${variant}.ts`), [folder.root, folder.program, String(load.agents)], {
    execArgv: ['--import', 'tsx', '--conditions=@chirality/source'],
  })
  const speaker = fork(programOf('speaker.mjs'))
  try {
    const [[hello]] = await Promise.all([once(server, 'message'), once(speaker, 'message')])
    const client = await connect(hello as Hello)
    await ask(server, 'begin')
    const result = await speak({ server, speaker, client, folder, load })
    client.socket.terminate()
    return result
  } finally {
    speaker.kill('SIGKILL')
    // Its agents go when their pipes do.
    server.disconnect()
    await Promise.all(
      [speaker, server].map(child => child.exitCode ?? child.signalCode ?? once(child, 'exit')),
    )
    rmSync(folder.root, { recursive: true, force: true })
  }
}

interface Client {
  socket: WebSocket
  latencies: number[]
}

async function connect({ url, token, sessionIds }: Hello): Promise<Client> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  await once(socket, 'open')
  const client: Client = { socket, latencies: [] }
  socket.on('message', data => note(client, String(data)))
  for (const [id, sessionId] of sessionIds.entries())
    socket.send(
      JSON.stringify({
        id,
        method: 'subscription',
        params: { path: 'session.events', input: { sessionId, textOnce: true } },
      }),
    )
  return client
}

function note(client: Client, text: string): void {
  const now = Number(process.hrtime.bigint()) / 1e6
  for (const [, at] of text.matchAll(/@(\d+\.\d+)@/g)) client.latencies.push(now - Number(at))
}

interface Speech {
  server: ChildProcess
  speaker: ChildProcess
  client: Client
  folder: AgentFolder
  load: Load
}

async function speak({ server, speaker, client, folder, load }: Speech): Promise<LoadResult> {
  const heard = messagesOf(speaker)
  speaker.send({ ...load, warmSeconds: WARM_SECONDS, pipes: folder.pipes })
  await heard.next()
  const before = await ask<number>(server, 'cpu')
  await heard.next()
  const expected = load.agents * load.perSecond * load.seconds
  for (let waited = 0; client.latencies.length < expected && waited < MAX_WAIT_MS; waited += 10)
    await new Promise(resolve => setTimeout(resolve, 10))
  const after = await ask<number>(server, 'cpu')
  const { latencies } = client
  return { latencies, cpuMs: after - before, lost: expected - latencies.length }
}

const WARM_SECONDS = 3
const MAX_WAIT_MS = 10_000

async function* messagesOf(child: ChildProcess): AsyncGenerator<unknown> {
  for (;;) yield (await once(child, 'message'))[0]
}

async function ask<T>(server: ChildProcess, command: ServerCommand): Promise<T> {
  const answer = once(server, 'message')
  server.send(command)
  return ((await answer) as [T])[0]
}

function programOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
