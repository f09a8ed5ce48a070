import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Envelope, UIEvent } from '@chirality/core'
import { realFileOps } from '@chirality/disk'
import { SessionLog } from '../../src/log/session-log.ts'
import { delta, numbered, SESSION, seeded } from './events.ts'

/** Thousands of logs are opened here, and none of them has to survive a power cut. */
const QUICK = { ops: { ...realFileOps, sync: async () => {}, syncData: async () => {} } }

type Random = (below: number) => number
type Sidecar = 'kept' | 'missing' | 'damaged'

/** A folder with one log, whose bytes are spoilt again and again in different ways. */
export class DamageLab {
  readonly root = mkdtempSync(join(tmpdir(), 'chirality-damage-'))
  #log = Buffer.alloc(0)
  #index = Buffer.alloc(0)

  static async create(events: number): Promise<DamageLab> {
    const lab = new DamageLab()
    const log = await SessionLog.open(lab.root, SESSION, QUICK)
    for (let n = 1; n <= events; n += 1) log.append(sample(n), { turnId: 'turn-1' })
    await log.shutDown()
    lab.#log = readFileSync(lab.#path('ndjson'))
    lab.#index = readFileSync(lab.#path('idx'))
    return lab
  }

  get bytes(): Buffer {
    return this.#log
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  /**
   * Puts these bytes in place of the log and reports what is wrong with what a reader then gets; nothing, if all is well.
   * `inPlace` when nothing was moved: then the checksums of the sidecar must hold.
   */
  async problems(
    spoilt: Buffer,
    sidecar: Sidecar,
    { random, inPlace }: { random: Random; inPlace: boolean },
  ): Promise<string[]> {
    const { envelopes, next } = await this.#open(spoilt, sidecar, random)
    return [
      ...orderProblems(envelopes),
      ...this.#lostLines(spoilt, envelopes),
      ...(inPlace && sidecar === 'kept' ? this.#wrongLines(envelopes) : []),
      ...(next === undefined ? ['the log takes no more events'] : []),
    ]
  }

  /** One to five random injuries. `moves` also shifts and cuts, instead of only overwriting. */
  spoil(random: Random, moves: boolean): Buffer {
    let bytes: Buffer = Buffer.from(this.#log)
    for (let injuries = 1 + random(5); injuries > 0; injuries -= 1) {
      const kind = random(moves ? 8 : 4)
      bytes = injure(bytes, kind, random)
    }
    return bytes
  }

  async #open(spoilt: Buffer, sidecar: Sidecar, random: Random) {
    for (const name of readdirSync(join(this.root, '.chirality/events')))
      unlinkSync(join(this.root, '.chirality/events', name))
    writeFileSync(this.#path('ndjson'), spoilt, { mode: 0o600 })
    if (sidecar !== 'missing') {
      const index = Buffer.from(this.#index)
      if (sidecar === 'damaged') index[random(index.length)] = random(256)
      writeFileSync(this.#path('idx'), index, { mode: 0o600 })
    }
    const log = await SessionLog.open(this.root, SESSION, QUICK)
    log.append(numbered(9999), { turnId: null, durable: true })
    const envelopes: Envelope[] = []
    for (let seq = 0; seq < log.lastSeq; seq = envelopes.at(-1)?.seq ?? log.lastSeq) {
      envelopes.push(...log.readAfter(seq, 17))
    }
    await log.shutDown()
    const next = envelopes.find(({ event }) => event.type === 'status' && event.data?.n === 9999)
    return { envelopes, next }
  }

  /** Lines that are still whole must all be read back; where numbers were damaged, perhaps under another number. */
  #lostLines(spoilt: Buffer, envelopes: Envelope[]): string[] {
    const originals = new Map(split(this.#log).map((line, i) => [line, i + 1]))
    const wanted = split(spoilt).filter(line => originals.has(line))
    const read = new Set(envelopes.map(envelope => withoutNumber(JSON.stringify(envelope))))
    const lost = wanted.filter(line => !read.has(withoutNumber(line)))
    return lost.length === 0 ? [] : [`good lines lost: ${lost.map(line => originals.get(line))}`]
  }

  /** With its checksums at hand the log gives back what was written, or says that it cannot. */
  #wrongLines(envelopes: Envelope[]): string[] {
    const originals = new Set(split(this.#log))
    const wrong = envelopes.filter(
      envelope =>
        envelope.event.type !== 'log:gap' &&
        !(envelope.event.type === 'status' && envelope.event.data?.n === 9999) &&
        !originals.has(JSON.stringify(envelope)),
    )
    // The last lines are believed as they are: the sidecar may be older than they.
    return wrong.filter(({ seq }) => seq <= originals.size - 8).map(({ seq }) => `line ${seq} was altered`)
  }

  #path(ending: string): string {
    return join(this.root, '.chirality/events', `${SESSION}.${ending}`)
  }
}

export function trial(lab: DamageLab, seed: number): Promise<string[]> {
  const random = seeded(seed)
  const sidecar = (['kept', 'missing', 'damaged'] as const)[random(3)] ?? 'kept'
  const inPlace = random(2) !== 0
  return lab.problems(lab.spoil(random, !inPlace), sidecar, { random, inPlace })
}

function sample(n: number): UIEvent {
  if (n % 3 === 0) return delta(`Wörter ${n} 😀 `, `m${n}`)
  if (n % 7 === 0) return numbered(n, 'x'.repeat(700))
  return numbered(n, `"event" ${n}\n`)
}

function injure(bytes: Buffer, kind: number, random: Random): Buffer {
  const at = random(bytes.length)
  switch (kind) {
    case 0:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
      return bytes
    case 1:
      bytes[at] = random(256)
      return bytes
    case 2:
      return bytes.fill(0, at, Math.min(bytes.length, at + random(random(2) === 0 ? 16 : 700)))
    case 3: {
      // Digits are where it hurts most: a line that claims another number.
      const digit = bytes.indexOf('{"seq":', at) + 7 + random(2)
      if (digit > 8) bytes[digit] = 0x30 + random(10)
      return bytes
    }
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random(600))])
    case 5:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.alloc(random(300), random(256)),
        bytes.subarray(at),
      ])
    case 6:
      return Buffer.concat([bytes.subarray(0, at + 1), Buffer.from('\n'), bytes.subarray(at + 1)])
    default:
      return bytes.subarray(0, Math.max(1, at))
  }
}

function split(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line !== '')
}

function withoutNumber(line: string): string {
  return line.replace(/^\{"seq":\d+/, '')
}

/** Whether every number is there once, as an event or in a gap. */
function orderProblems(envelopes: Envelope[]): string[] {
  let last = 0
  const problems: string[] = []
  for (const { seq, event } of envelopes) {
    const first = event.type === 'log:gap' ? event.afterSeq + 1 : seq
    const length = event.type === 'log:gap' ? event.missing : 1
    if (first !== last + 1 || first + length - 1 !== seq)
      problems.push(`${event.type} ${seq} comes after ${last}`)
    last = seq
  }
  return problems
}
