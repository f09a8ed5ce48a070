import type { Stamped } from './journal.ts'
import { type Seal, sha256 } from './machine-key.ts'

/** A position in a journal: the number of entries up to it, and their combined hash. */
export interface ChainLink {
  count: number
  /** Hash of the previous chain value and the entry's bytes. */
  chain: string
}

export function firstLink(loopId: string): ChainLink {
  return { count: 0, chain: sha256(`chirality loop ${loopId}`) }
}

/**
 * Lines for entries that are added together. Each but the last tells how many follow, so that a reader drops an
 * interrupted group.
 */
export function chainLines(
  entries: readonly Stamped[],
  before: ChainLink,
  seal: Seal,
): { text: string; link: ChainLink } {
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
  /** The entry before it was chained. */
  body: string
  chain: string
  sig: string
}

/** Parses a line. Undefined if it does not follow from the previous one. */
export function followsFrom(chain: string, line: string): ChainedLine | undefined {
  const tail = TAIL.exec(line.slice(-TAIL_CHARS))
  if (tail === null) return undefined
  const body = `${line.slice(0, -TAIL_CHARS)}}`
  const [, found = '', sig = ''] = tail
  return nextChain(chain, body) === found ? { body, chain: found, sig } : undefined
}

/** Text of `head.json`. Its length never changes, so that it is overwritten in one write. */
export function headText(loopId: string, { count, chain }: ChainLink, seal: Seal): string {
  const sig = seal.sign('head', headWords(loopId, { count, chain }))
  return `{"count":${String(count).padStart(12)},"chain":"${chain}","sig":"${sig}","key":"${seal.id}"}\n`
}

/** Reads `head.json`. Throws if this machine did not write it. */
export function readHead(loopId: string, text: string, seal: Seal): ChainLink {
  const { count, chain, sig, key } = JSON.parse(text) as Record<string, unknown>
  if (typeof count !== 'number' || typeof chain !== 'string' || typeof sig !== 'string')
    throw new Error('is damaged')
  if (key !== seal.id) throw new Error('was signed with another key than that of this machine')
  if (!seal.holds('head', headWords(loopId, { count, chain }), sig))
    throw new Error('has a signature that does not hold')
  return { count, chain }
}

function headWords(loopId: string, { count, chain }: ChainLink): string {
  return `${loopId} ${count} ${chain}`
}

function nextChain(before: string, body: string): string {
  return sha256(`${before}\n${body}`)
}

const TAIL = /^,"chain":"([0-9a-f]{64})","sig":"([A-Za-z0-9+/]{86}==)"\}$/
const TAIL_CHARS = 173
