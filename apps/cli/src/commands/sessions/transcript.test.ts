import { costText, type Envelope, initialSessionState, reduceSession, type UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { transcript } from './transcript.ts'

const sessionId = 's'

function turn(number: number): Envelope[] {
  const events: UIEvent[] = [
    { type: 'turn:start', sessionId, message: `Ask ${number}\u001b[2J` },
    ...(number === 1
      ? [{ type: 'session:init' as const, sessionId, claudeSessionId: 'id', model: 'm', tools: [] }]
      : []),
    { type: 'chat:message', sessionId, messageId: `m${number}`, text: `Answer ${number}.` },
    { type: 'turn:end', sessionId, reason: 'completed' },
  ]
  return events.map((event, i) => ({ seq: number * 10 + i, at: '', sessionId, turnId: `t${number}`, event }))
}

function turns(count: number): Envelope[] {
  return Array.from({ length: count }, (_, i) => turn(i + 1)).flat()
}

test('shows the speaker of each message', () => {
  expect(transcript(turns(2), { colour: false, more: '--json has them all' })).toBe(
    '\n> Ask 1\nm · session id\nAnswer 1.\n\n> Ask 2\nAnswer 2.\n',
  )
})

test('shows the last ten turns, and how many came before them', () => {
  const text = transcript(turns(12), { colour: false, more: '--json has them all' })
  expect(text.startsWith('2 earlier turns; --json has them all\nm · session id\n\n> Ask 3\n')).toBe(true)
  expect(text.endsWith('> Ask 12\nAnswer 12.\n')).toBe(true)
  expect(transcript(turns(11), { colour: false, more: '--json has them all' })).toMatch(/^1 earlier turn;/)
})

test('counts the turns that it was not given', () => {
  const text = transcript(turns(2), { colour: false, more: 'look', turns: 5 })
  expect(text.startsWith('3 earlier turns; look\n\n> Ask 1\n')).toBe(true)
})

test('each turn shows its own cost, as the dashboard does', () => {
  const usage = { input_tokens: 10, output_tokens: 5 }
  const spent = [0.25, 0.5].flatMap((costUsd, i): UIEvent[] => [
    { type: 'turn:start', sessionId, message: `Ask ${i}` },
    { type: 'session:complete', sessionId, costUsd, usage },
    { type: 'turn:end', sessionId, reason: 'completed' },
  ])
  const envelopes = spent.map((event, i): Envelope => ({ seq: i + 1, at: '', sessionId, turnId: 't', event }))
  const { turns: folded, costUsd } = reduceSession(initialSessionState(sessionId), envelopes)
  const text = transcript(envelopes, { colour: false, more: '' })
  expect(text.match(/\$[\d.]+/g)).toEqual(
    folded.map(turn => costText({ usd: turn.costUsd, isEstimate: false })),
  )
  expect(text).toContain('$0.2500')
  expect(costUsd).toBe(0.75)
})

test('an empty session prints nothing', () => {
  expect(transcript([], { colour: true, more: '' })).toBe('')
})
