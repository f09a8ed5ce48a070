import { isDelta, joinDeltas, type UIEvent } from '@chirality/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventMatcher, isAside } from './match-events.ts'

const sessionId = 's1'
const piece = (text: string, messageId = 'm1'): UIEvent => ({
  type: 'chat:delta',
  sessionId,
  text,
  messageId,
})
const whole = (text: string, messageId = 'm1'): UIEvent => ({
  type: 'chat:message',
  sessionId,
  text,
  messageId,
})
const tool = (toolUseId: string): UIEvent => ({
  type: 'tool:start',
  sessionId,
  toolUseId,
  name: 'Bash',
  input: {},
})
const usage = (n: number): UIEvent => ({
  type: 'usage',
  sessionId,
  usage: { input_tokens: n, output_tokens: n },
})
const status = (message: string): UIEvent => ({
  type: 'status',
  sessionId,
  status: 'notice',
  level: 'info',
  message,
})
const budget: UIEvent = {
  type: 'budget',
  sessionId,
  scope: 'turn',
  spentUsd: 1,
  limitUsd: 2,
  exceeded: false,
}
const gap = (missing: number): UIEvent => ({
  type: 'log:gap',
  sessionId,
  afterSeq: 0,
  missing,
  reason: 'damaged',
})
const start: UIEvent = { type: 'turn:start', sessionId, message: 'Go' }
const end = (durationMs: number): UIEvent => ({
  type: 'turn:end',
  sessionId,
  reason: 'completed',
  durationMs,
})

function missing(logged: UIEvent[], stream: UIEvent[]): UIEvent[] {
  const matcher = new EventMatcher(logged)
  return stream.flatMap(event => matcher.missing(event) ?? [])
}

describe('the events of a turn that the log lacks', () => {
  const turn = [start, tool('t1'), usage(1), usage(1), piece('He'), piece('llo'), whole('Hello'), end(5)]
  test.each<[string, UIEvent[], UIEvent[], UIEvent[]]>([
    ['nothing', turn, turn, []],
    ['everything', [], turn, turn],
    ['its end', turn.slice(0, -1), turn, [end(5)]],
    ['an end that took another time is the same end', [...turn.slice(0, -1), end(9)], turn, []],
    ['joined pieces', [start, tool('t1'), usage(1), usage(1), piece('Hello')], turn, turn.slice(6)],
    ['half of the pieces', [start, tool('t1'), usage(1), usage(1), piece('He')], turn, turn.slice(5)],
    ['the rest of a piece', [start, piece('Hel')], [start, piece('He'), piece('llo')], [piece('lo')]],
    ['the second of two alike', [start, usage(1)], [start, usage(1), usage(1)], [usage(1)]],
    [
      'words of the host are passed by',
      [start, status('warned'), budget, tool('t1')],
      [start, tool('t1')],
      [],
    ],
    ['a status that both have', [start, status('a'), tool('t1')], [start, status('a'), tool('t1')], []],
    [
      'a status that is new in the middle is no news',
      [start, tool('t1')],
      [start, status('b'), tool('t1')],
      [],
    ],
    ['a status that is new at the end', [start], [start, status('b')], [status('b')]],
    ['a line lost in a gap stays lost', [start, gap(1), usage(2)], [start, tool('t1'), usage(2)], []],
    [
      'pieces lost in a gap stay lost',
      [start, gap(1), whole('Hello')],
      turn.slice(0, 1).concat(turn.slice(4, 7)),
      [],
    ],
    ['a line torn at the end is said again', [start, gap(1)], [start, tool('t1')], [tool('t1')]],
    [
      'no more is lost in a gap than was in it',
      [start, gap(1), usage(3)],
      [start, tool('t1'), tool('t2'), usage(3)],
      [tool('t2')],
    ],
    ['texts of two messages', [piece('a', 'x')], [piece('a', 'x'), piece('a', 'y')], [piece('a', 'y')]],
  ])('%s', (_name, logged, stream, expected) => {
    expect(missing(logged, stream)).toEqual(expected)
  })
})

const agentEvent = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.string({ minLength: 1, maxLength: 3 }), fc.constantFrom('a', 'b'))
      .map(([text, id]) => piece(text, id)),
  },
  { weight: 1, arbitrary: fc.constantFrom('a', 'b').map(id => whole('all', id)) },
  { weight: 1, arbitrary: fc.nat(3).map(n => tool(`t${n}`)) },
  { weight: 1, arbitrary: fc.nat(2).map(usage) },
  { weight: 1, arbitrary: fc.constantFrom('x', 'y').map(status) },
)
const aside = fc.constantFrom(budget, status('host'), status('warned'))

/** The events as the log has them: pieces joined, and the host's own events in between. */
function store(events: UIEvent[], choices: { window: boolean; words: UIEvent | undefined }[]): UIEvent[] {
  const stored: UIEvent[][] = [[]]
  events.forEach((event, at) => {
    const { window, words } = choices[at % choices.length] ?? { window: false, words: undefined }
    stored.at(-1)?.push(event)
    if (window) stored.push([])
    if (words !== undefined) stored.at(-1)?.push(words)
  })
  return stored.flatMap(joinDeltas)
}

/** Every event of the agent, with consecutive pieces of one text joined. */
function transcript(events: UIEvent[]): string[] {
  const lines: string[] = []
  let open: string | undefined
  for (const event of events.filter(candidate => !isAside(candidate))) {
    if (isDelta(event) && event.type === 'chat:delta') {
      const line = `${event.messageId}:`
      if (open === line) lines[lines.length - 1] += event.text
      else lines.push(line + event.text)
      open = line
    } else {
      open = undefined
      lines.push(JSON.stringify(event))
    }
  }
  return lines
}

test('however a log was joined, interspersed and cut, what it has and what is added make the whole turn, once', () => {
  const choices = fc.array(fc.record({ window: fc.boolean(), words: fc.option(aside, { nil: undefined }) }), {
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.array(agentEvent, { maxLength: 40 }), choices, fc.nat(60), (turn, how, cut) => {
      const logged = store([start, ...turn], how).slice(0, cut)
      const stream = [start, ...turn, end(1)]
      expect(transcript([...logged, ...missing(logged, stream)])).toEqual(transcript(stream))
    }),
    { numRuns: 2000 },
  )
})

test('found again twice: the second time nothing is added', () => {
  const choices = fc.array(fc.record({ window: fc.boolean(), words: fc.option(aside, { nil: undefined }) }), {
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.array(agentEvent, { maxLength: 30 }), choices, fc.nat(40), (turn, how, cut) => {
      const logged = store([start, ...turn], how).slice(0, cut)
      const stream = [start, ...turn, end(1)]
      const complete = [...logged, ...missing(logged, stream)]
      expect(missing(complete, stream)).toEqual([])
    }),
    { numRuns: 1000 },
  )
})

test('with a damaged part nothing after it is doubled', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(200), { minLength: 4, maxLength: 30 }),
      fc.nat(),
      fc.nat(3),
      (ids, at, length) => {
        const turn = ids.map(id => tool(`t${id}`))
        const from = 1 + (at % (turn.length - 2))
        const lost = Math.min(length + 1, turn.length - from - 1)
        const logged = [...turn.slice(0, from), gap(lost), ...turn.slice(from + lost)]
        expect(missing(logged, [...turn, usage(1)])).toEqual([usage(1)])
      },
    ),
  )
})

test('a call that an earlier version logged without its facts is the same call', () => {
  const facts = { kind: 'other', label: 'T', object: '' } as const
  const call: UIEvent = { type: 'tool:start', sessionId, toolUseId: 't1', name: 'T', input: { a: 1 } }
  const told: UIEvent = { ...call, facts }
  expect(missing([start, call], [start, told, usage(1)])).toEqual([usage(1)])
  expect(missing([start, call], [start, { ...told, input: { a: 2 } }])).toHaveLength(1)
})
