import { describe, expect, test } from 'vitest'
import { nextPhase, type PhaseInput, type TurnPhase } from './turn-phase.ts'

const PHASES: TurnPhase[] = ['idle', 'starting', 'running', 'waiting', 'ending']
const INPUTS: PhaseInput[] = ['start', 'refused', 'started', 'asked', 'answered', 'ended', 'settled']

const ALLOWED: Record<string, TurnPhase> = {
  'idle start': 'starting',
  'starting refused': 'idle',
  'starting started': 'running',
  'running asked': 'waiting',
  'running ended': 'ending',
  'waiting answered': 'running',
  'waiting ended': 'ending',
  'ending settled': 'idle',
}

describe.each(PHASES)('%s', phase => {
  test.each(INPUTS)('%s', input => {
    expect(nextPhase(phase, input)).toBe(ALLOWED[`${phase} ${input}`])
  })
})

test('every phase is reached from idle, and idle from every phase', () => {
  const reachable = (from: TurnPhase) => {
    const seen = new Set<TurnPhase>([from])
    for (const phase of seen) {
      for (const input of INPUTS) {
        const next = nextPhase(phase, input)
        if (next !== undefined) seen.add(next)
      }
    }
    return seen
  }
  expect([...reachable('idle')].sort()).toEqual([...PHASES].sort())
  for (const phase of PHASES) expect(reachable(phase)).toContain('idle')
})
