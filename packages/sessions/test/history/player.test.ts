import { readFileSync } from 'node:fs'
import { initialSessionState, reduceSession } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { ReplayClock, Timeline } from '../../player/timeline.ts'
import { buildPlayer, GENERATED_FILE } from '../../scripts/build-player.ts'
import { PLAYER_SCRIPT, PLAYER_STYLE } from '../../src/history/html/player.generated.ts'
import { envelopesOf, type LooseEvent } from '../support/sessions.ts'

test('the generated file is what player/ and the reducer make it: run `pnpm player` after a change', async () => {
  expect(readFileSync(GENERATED_FILE, 'utf8') === (await buildPlayer())).toBe(true)
})

test('nothing in the player could end its own tag', () => {
  expect(PLAYER_SCRIPT).not.toMatch(/<\/script|<!--|<script/i)
  expect(PLAYER_STYLE).not.toContain('<')
})

describe('the clock', () => {
  const clock = new ReplayClock(
    [0, 0, 500, 400, 60_000, 60_100].map((ms, i) => ({
      seq: i + 1,
      sessionId: 's',
      turnId: null,
      at: i === 1 ? 'never' : new Date(ms).toISOString(),
      event: { type: 'turn:end', sessionId: 's', reason: 'completed' },
    })),
  )

  test('keeps the times, cuts long silences, and never goes back', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 99].map(count => clock.timeOf(count))).toEqual([
      0, 0, 0, 500, 500, 2500, 2600, 2600,
    ])
  })

  test('counts the events that are due at a time', () => {
    expect([0, 499, 500, 2499, 2500, 9999].map(time => clock.countAt(time))).toEqual([2, 2, 4, 4, 5, 6])
  })

  test('the clock of an empty session stays at zero', () => {
    expect([new ReplayClock([]).timeOf(5), new ReplayClock([]).countAt(5)]).toEqual([0, 0])
  })
})

test('the timeline has the same state at a place, wherever it comes from', () => {
  const events = Array.from(
    { length: 1000 },
    (_, n): LooseEvent => ({
      type: 'chat:delta',
      messageId: `m${Math.floor(n / 10)}`,
      text: `${n} `,
    }),
  )
  const envelopes = envelopesOf(events)
  const timeline = new Timeline('s', envelopes)
  for (const place of [1000, 0, 450, 449, 200, 201, 999, -5, 5000]) {
    const end = Math.max(0, Math.min(place, 1000))
    expect(timeline.stateAfter(place)).toEqual(
      reduceSession(initialSessionState('s'), envelopes.slice(0, end)),
    )
  }
})
