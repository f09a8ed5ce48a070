import { noise } from './random.ts'

/** A frame that is one, with a payload that is noise or nearly a call: the next is read, too. */
export function oddFrame(random: () => number): Buffer {
  const isText = random() < 0.7
  const payload = (isText ? Buffer.from(nearlyACall(random)) : noise(random, 120)).subarray(0, 125)
  const opcode = isText ? 0x81 : (pick([0x82, 0x89, 0x8a], random) ?? 0x82)
  return frame([opcode, 0x80 | payload.length], payload, random)
}

/** One with a wrong opcode, bit, length or mask, after which a socket is closed. */
export function brokenFrame(random: () => number): Buffer {
  const head = [Math.floor(random() * 256), Math.floor(random() * 256)]
  return frame(head, noise(random, 120), random)
}

function frame(head: number[], payload: Buffer, random: () => number): Buffer {
  const key = Buffer.concat([noise(random, 5), Buffer.alloc(4)]).subarray(0, 4)
  const masked = payload.map((byte, i) => byte ^ (key[i % 4] ?? 0))
  return Buffer.concat([Buffer.from(head), key, masked])
}

function pick<T>(values: T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] as T
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
