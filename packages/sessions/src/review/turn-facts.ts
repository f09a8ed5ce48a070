import { addCost, costSoFar, type Envelope, NO_COST } from '@chirality/core'
import type { TurnFacts } from '@chirality/workspaces'
import { readSessionLog, type SessionLogReader } from '../log/read-log.ts'

/** What the log of a session of a project says of one of its turns, for who wrote a line. */
export function factsOfTurns(
  root: string,
): (turn: { sessionId: string; turnId: string; endSeq?: number | undefined }) => Promise<Partial<TurnFacts>> {
  return async ({ sessionId, turnId, endSeq }) => {
    const log = await readSessionLog(root, sessionId).catch(() => undefined)
    if (log === undefined) return {}
    try {
      return factsOf(eventsOfTurn(log, turnId, endSeq))
    } finally {
      log.close()
    }
  }
}

/** Oldest first. Read from the end of the turn back: the rest of a long log is not read. */
function eventsOfTurn(log: SessionLogReader, turnId: string, endSeq = log.lastSeq): Envelope[] {
  const found: Envelope[] = []
  let before = Math.min(log.lastSeq, endSeq + AFTER_END) + 1
  while (before > 1) {
    const page = log.readBefore(before, PAGE)
    for (const envelope of page.toReversed()) {
      if (envelope.turnId !== turnId) continue
      if (KEPT.has(envelope.event.type)) found.push(envelope)
      if (envelope.event.type === 'turn:start') return found.toReversed()
    }
    before = page[0]?.seq ?? 1
  }
  return found.toReversed()
}

const PAGE = 1000
/** The last events of a turn may come right after its end was noticed. */
const AFTER_END = 50
/** Who works, for what, and at what cost. */
const KEPT: ReadonlySet<string> = new Set([
  'turn:start',
  'session:init',
  'usage',
  'session:complete',
  'session:error',
])

function factsOf(envelopes: readonly Envelope[]): Partial<TurnFacts> {
  let ledger = NO_COST
  const facts: Partial<TurnFacts> = {}
  for (const { event, at } of envelopes) {
    ledger = addCost(ledger, event)
    if (event.type === 'turn:start') {
      facts.prompt = event.message.slice(0, MAX_PROMPT_CHARS)
      facts.at = at
    }
    if (event.type === 'session:init') facts.model = event.model
  }
  const { usd, isEstimate } = costSoFar(ledger)
  return { ...facts, costUsd: usd, costIsEstimate: isEstimate }
}

const MAX_PROMPT_CHARS = 2000
