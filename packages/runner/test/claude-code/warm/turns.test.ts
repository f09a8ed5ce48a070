import { claudeBinaries } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { bodies, ofType } from '../support/events.ts'
import { useWarmWorld } from '../support/warm.ts'

describe.each(claudeBinaries())('Claude Code $version, kept between turns', ({ path: binary }) => {
  const world = useWarmWorld(binary)

  test('two turns run in one process and one conversation, each with its own cost', async () => {
    const model = await world.model({ answers: ['First.', 'Second.'] })
    const { turn, pids } = world.chat({ model })
    const first = await turn('remember the word zebra')
    const second = await turn('and now?')
    expect(ofType(first, 'chat:complete')).toMatchObject([{ text: 'First.' }])
    expect(ofType(second, 'chat:complete')).toMatchObject([{ text: 'Second.' }])
    expect(new Set(pids()).size).toBe(1)
    expect(JSON.stringify(bodies(model).at(-1)?.messages)).toContain('zebra')
    const [costA, costB] = [first, second].map(events => ofType(events, 'session:complete')[0]?.costUsd)
    expect(costA).toBeGreaterThan(0)
    expect(costB).toBe(costA)
    for (const events of [first, second]) {
      expect(events[0]?.type).toBe('turn:start')
      expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
      expect(ofType(events, 'session:init')).toHaveLength(1)
      expect(ofType(events, 'native:unknown')).toEqual([])
    }
  })
})
