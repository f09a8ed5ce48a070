import type { Stamped } from './journal.ts'
import { type Seal, sha256 } from './machine-key.ts'

/** A place in a journal: how many entries there are up to it, and what they all come to. */
export interface Link {
  count: number
  /** The hash of the chain before and of the entry's bytes. */
  chain: string
}

export function firstLink(loopId: string): Link {
  return { count: 0, chain: sha256(`chirality loop ${loopId}`) }
}

/** The lines of entries that are added at once. All but the last say how many follow: one that is cut off says nothing. */
export function chainLines(
  entries: readonly Stamped[],
  before: Link,
  seal: Seal,
): { text: string; link: Link } {
  let { count, chain } = before
  const lines = entries.map((entry, at) => {
    const more = entries.length - at - 1
    const body = JSON.stringify(more === 0 ? entry : { ...entry, more })
    count += 1
    chain = nextChain(chain, body)
    return `${body.slice(0, -1)},"chain":"${chain}","sig":"${seal.sign('entry', chain)}"}\n`
  })
  return { text: lines.join(''), link: { count, chain } }
}

export interface ChainedLine {
  /** The entry, as it was before it was chained. */
  body: string
  chain: string
  sig: string
}

/** Undefined for a line that does not follow from the one before. */
export function followsFrom(chain: string, line: string): ChainedLine | undefined {
  const tail = TAIL.exec(line.slice(-TAIL_CHARS))
  if (tail === null) return undefined
  const body = `${line.slice(0, -TAIL_CHARS)}}`
  const [, found = '', sig = ''] = tail
  return nextChain(chain, body) === found ? { body, chain: found, sig } : undefined
}

/** `head.json`, always of the same length: it is written over in one step. */
export function headText(loopId: string, { count, chain }: Link, seal: Seal): string {
  const sig = seal.sign('head', headWords(loopId, { count, chain }))
  return `{"count":${String(count).padStart(12)},"chain":"${chain}","sig":"${sig}","key":"${seal.id}"}\n`
}

/** Throws for one that this machine did not write. */
export function readHead(loopId: string, text: string, seal: Seal): Link {
  const { count, chain, sig, key } = JSON.parse(text) as Record<string, unknown>
  if (typeof count !== 'number' || typeof chain !== 'string' || typeof sig !== 'string')
    throw new Error('is damaged')
  if (key !== seal.id) throw new Error('was signed with another key than that of this machine')
  if (!seal.holds('head', headWords(loopId, { count, chain }), sig))
    throw new Error('has a signature that does not hold')
  return { count, chain }
}

function headWords(loopId: string, { count, chain }: Link): string {
  return `${loopId} ${count} ${chain}`
}

function nextChain(before: string, body: string): string {
  return sha256(`${before}\n${body}`)
}

const TAIL = /^,"chain":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}$/
const TAIL_CHARS = 173
