import type { Envelope, UIEvent } from '@chirality/core'

type Loose = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

/** The last words of the log: when they are seen, the last screen is. */
export const LAST_WORDS = 'These are the last words of the log.'

/**
 * A log of so many events, as a long day with an agent leaves it: thinking, text in pieces and then whole, tools whose input
 * is written piece by piece, results of all sizes, a result with its cost at the end of each turn.
 */
export function longLog(sessionId: string, events: number): Envelope[] {
  const envelopes: Envelope[] = []
  const start = Date.UTC(2026, 0, 1)
  let turn = 0
  const add = (event: Loose) => {
    const seq = envelopes.length + 1
    const at = new Date(start + seq * 200).toISOString()
    envelopes.push({ seq, at, sessionId, turnId: `turn-${turn}`, event: { ...event, sessionId } as UIEvent })
  }
  while (envelopes.length < events - LONGEST_TURN) {
    turn += 1
    for (const event of turnOf(turn)) add(event)
  }
  turn += 1
  const rest = events - envelopes.length
  add({ type: 'turn:start', message: 'And the last thing?' })
  for (let i = 0; i < rest - 4; i++) add({ type: 'chat:delta', messageId: 'last', text: `${words(i, 3)} ` })
  add({ type: 'chat:message', messageId: 'last', text: `${words(turn, 200)}\n\n${LAST_WORDS}` })
  add(cost(turn))
  add({ type: 'turn:end', reason: 'completed' })
  return envelopes
}

const LONGEST_TURN = 400

function* turnOf(turn: number): Generator<Loose> {
  yield { type: 'turn:start', message: `Step ${turn}: ${words(turn, 12)}` }
  yield { type: 'session:init', claudeSessionId: 'native', model: 'claude-sonnet-4-5', tools: TOOLS }
  for (let step = 0; step < 1 + (turn % 5); step++) {
    const id = `${turn}-${step}`
    const thought = words(turn + step, 40)
    for (const text of piecesOf(thought, 4)) yield { type: 'chat:thinking', messageId: `think-${id}`, text }
    yield { type: 'chat:thinking', messageId: `think-${id}`, text: thought, final: true }
    const answer = answerOf(turn + step)
    for (const text of piecesOf(answer, 14)) yield { type: 'chat:delta', messageId: `say-${id}`, text }
    yield { type: 'chat:message', messageId: `say-${id}`, text: answer }
    yield* toolsOf(turn, step)
    yield { type: 'usage', usage: { input_tokens: 2000 + turn, output_tokens: 300 } } as Loose
  }
  yield cost(turn)
  yield { type: 'turn:end', reason: turn % 40 === 0 ? 'interrupted' : 'completed' }
}

function* toolsOf(turn: number, step: number): Generator<Loose> {
  for (let i = 0; i < 1 + ((turn + step) % 3); i++) {
    const toolUseId = `tool-${turn}-${step}-${i}`
    const name = TOOLS[(turn + i) % TOOLS.length] ?? 'Bash'
    const input =
      name === 'Bash' ? { command: `ls src/${turn}` } : { file_path: `/project/src/file-${turn}-${i}.ts` }
    yield { type: 'tool:start', toolUseId, name, input: {} }
    for (const delta of piecesOf(JSON.stringify(input), 3)) yield { type: 'tool:input', toolUseId, delta }
    yield { type: 'tool:input', toolUseId, input }
    const lines = (turn * 7 + i) % 29 === 0 ? 400 : 1 + ((turn * 5 + i) % 40)
    yield {
      type: 'tool:result',
      toolUseId,
      content: `${words(turn, 8)}\n`.repeat(lines),
      isError: turn % 17 === 0,
    }
  }
}

function cost(turn: number): Loose {
  return {
    type: 'session:complete',
    costUsd: 0.01 + (turn % 7) / 1000,
    usage: { input_tokens: 2000, output_tokens: 400 },
  }
}

function answerOf(n: number): string {
  const code = n % 3 === 0 ? `\n\n\`\`\`ts\nexport const value${n} = ${n}\n\`\`\`` : ''
  const list = n % 2 === 0 ? `\n\n- ${words(n, 6)}\n- \`code\` and ${words(n + 1, 5)}` : ''
  return `${words(n, 20 + (n % 40))}${list}${code}`
}

function words(seed: number, count: number): string {
  return Array.from({ length: count }, (_, i) => WORDS[(seed * 31 + i * 7 + i * i) % WORDS.length]).join(' ')
}

function piecesOf(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}

const TOOLS = ['Read', 'Bash', 'Edit', 'Grep', 'Write']
const WORDS =
  'the file reads a list of events and writes them to disk before anybody can see what they say about **this** turn, which `main` calls'.split(
    ' ',
  )
