import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { UPGRADE } from './raw-request.ts'

export interface JunkTarget {
  port: number
  token: string
}

/** Numbers that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32
    return state / 2 ** 32
  }
}

/** How many broken frames a connection sends that gets so far. */
const FRAMES_EACH = 4

/** One connection that sends what nobody should: a broken request, a broken handshake, or broken frames. */
export async function sendJunk({ port, token }: JunkTarget, random: () => number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise(resolve => socket.once('connect', resolve).once('error', resolve))
  const kind = random()
  if (kind < 0.25) await send(socket, noise(random, 200))
  else if (kind < 0.5) await send(socket, mutate(Buffer.from(handshake(port, token)), random))
  else {
    socket.write(handshake(port, token))
    await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
    await send(socket, frames(random))
  }
}

function handshake(port: number, token: string): string {
  const headers = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${token}`, ...UPGRADE }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `GET /trpc HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

/** Written, and then gone: half of them without a goodbye. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed) return
  await new Promise(resolve => socket.write(bytes, resolve))
  if (bytes.length % 2 === 0) socket.destroySoon()
  else socket.resetAndDestroy()
}

function noise(random: () => number, max: number): Buffer {
  return Buffer.from(Array.from({ length: Math.floor(random() * max) }, () => Math.floor(random() * 256)))
}

function mutate(bytes: Buffer, random: () => number): Buffer {
  const changed = Buffer.from(bytes)
  for (let i = 0; i < 1 + random() * 8; i += 1)
    changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256)
  return random() < 0.3 ? changed.subarray(0, Math.floor(random() * changed.length)) : changed
}

/** Frames with odd opcodes, lengths, bits and masks, and calls that are nearly right. */
function frames(random: () => number): Buffer {
  return Buffer.concat(
    Array.from({ length: FRAMES_EACH }, () => {
      const payload = random() < 0.5 ? noise(random, 120) : Buffer.from(nearlyACall(random))
      const first = random() < 0.5 ? 0x81 : Math.floor(random() * 256)
      const mask = noise(random, 5)
      const length = random() < 0.8 ? 0x80 | Math.min(125, payload.length) : Math.floor(random() * 256)
      const key = Buffer.concat([mask, Buffer.alloc(4)]).subarray(0, 4)
      return Buffer.concat([
        Buffer.from([first, length]),
        key,
        payload.map((byte, i) => byte ^ (key[i % 4] ?? 0)),
      ])
    }),
  )
}

function nearlyACall(random: () => number): string {
  const pick = <T>(values: T[]): T => values[Math.floor(random() * values.length)] as T
  const path = pick<unknown>([
    'system.info',
    'session.events',
    '__proto__',
    'constructor',
    '',
    null,
    'a.b.c',
    1,
  ])
  const input = pick<unknown>([
    undefined,
    null,
    {},
    { sessionId: 1 },
    { __proto__: {} },
    [],
    'x',
    { json: 1 },
  ])
  const method = pick<unknown>(['query', 'mutation', 'subscription', 'subscription.stop', 'x', null])
  const call = {
    id: pick<unknown>([1, null, 'x', {}, -1, 0.5]),
    method,
    params: pick<unknown>([{ path, input }, null, 1]),
  }
  return JSON.stringify(pick<unknown>([call, [call, call], [[call]], call.params, 'PING', 7]))
}
