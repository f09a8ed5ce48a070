import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { brokenFrame, oddFrame } from './broken-frame.ts'
import { noise } from './random.ts'
import { UPGRADE } from './raw-request.ts'

export interface JunkTarget {
  port: number
  token: string
}

/** What was sent, each counted by itself. */
export interface JunkCounts {
  /** Requests and upgrades that are broken: noise, changed bytes, the end missing. */
  handshakes: number
  /** Frames that are broken or nearly calls, on sockets that were let in. */
  frames: number
}

/** So many, with some connections at a time: one for each handshake, one for some frames. */
export async function sendJunk(
  target: JunkTarget,
  wanted: JunkCounts,
  random: () => number,
): Promise<JunkCounts> {
  const sent = { handshakes: 0, frames: 0 }
  const worker = async () => {
    while (sent.handshakes < wanted.handshakes || sent.frames < wanted.frames) {
      if (sent.handshakes < wanted.handshakes) {
        sent.handshakes += 1
        await sendHandshake(target, random)
      }
      if (sent.frames >= wanted.frames) continue
      const frames = await sendFrames(target, random)
      sent.frames += frames
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return sent
}

const AT_ONCE = 32

async function sendHandshake({ port, token }: JunkTarget, random: () => number): Promise<void> {
  const socket = await open(port)
  const bytes = random() < 0.5 ? noise(random, 200) : mutate(Buffer.from(handshake({ port, token })), random)
  await sendAndLeave(socket, bytes)
}

/** Some that are read one after the other, and one that ends it. */
async function sendFrames({ port, token }: JunkTarget, random: () => number): Promise<number> {
  const socket = await open(port)
  socket.write(handshake({ port, token }))
  await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
  if (socket.destroyed) throw new Error('A socket with the token was refused.')
  const frames = Array.from({ length: Math.floor(random() * MAX_FRAMES) }, () => oddFrame(random))
  await sendAndLeave(socket, Buffer.concat([...frames, brokenFrame(random)]))
  return frames.length + 1
}

const MAX_FRAMES = 20

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise(resolve => socket.once('connect', resolve).once('error', resolve))
  return socket
}

function handshake({ port, token }: JunkTarget): string {
  const headers = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${token}`, ...UPGRADE }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `GET /trpc HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

/** Half of them without a goodbye. */
async function sendAndLeave(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed) return
  await new Promise(resolve => socket.write(bytes, resolve))
  if (bytes.length % 2 === 0) socket.destroySoon()
  else socket.resetAndDestroy()
}

function mutate(bytes: Buffer, random: () => number): Buffer {
  const changed = Buffer.from(bytes)
  for (let i = 0; i < 1 + random() * 8; i += 1)
    changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256)
  return random() < 0.3 ? changed.subarray(0, Math.floor(random() * changed.length)) : changed
}
