import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UIEvent } from '../src/index.ts'
import {
  assistant,
  blockStart,
  blockStop,
  init,
  inputDelta,
  type Line,
  messageDelta,
  messageStart,
  messageStop,
  result,
  text,
  textDelta,
  textStart,
  thinking,
  thinkingDelta,
  thinkingStart,
  toolResult,
  toolStart,
  toolUse,
  translate,
} from './support/claude-lines.ts'

test('E12: the transcript is the same with and without partial messages', () => {
  fc.assert(
    fc.property(conversation(), ({ lines, expected }) => {
      const plain = lines.filter(line => line.type !== 'stream_event')
      expect(transcript(lines)).toStrictEqual(transcript(plain))
      expect(transcript(lines).map(item => item.said)).toStrictEqual(expected)
    }),
    { numRuns: 300 },
  )
})

interface Item {
  key: string
  said: unknown
}

/** The plainest fold there is: items by id, in the order they first appear. */
function transcript(lines: Line[]): Item[] {
  const items = new Map<string, unknown>()
  for (const event of translate(lines).events) fold(items, event)
  return [...items].map(([key, said]) => ({ key, said }))
}

function fold(items: Map<string, unknown>, event: UIEvent): void {
  if (event.type === 'chat:delta')
    items.set(event.messageId ?? '', `${items.get(event.messageId ?? '') ?? ''}${event.text}`)
  if (event.type === 'chat:message') keep(items, event.messageId, event.discarded ? '' : event.text)
  if (event.type === 'chat:thinking') {
    keep(
      items,
      event.messageId,
      event.final ? event.text : `${items.get(event.messageId) ?? ''}${event.text}`,
    )
  }
  if (event.type === 'tool:start') items.set(event.toolUseId, { name: event.name, input: event.input })
  if (event.type === 'tool:input' && event.input)
    items.set(event.toolUseId, { name: 'Bash', input: event.input })
  if (event.type === 'tool:result') items.set(`${event.toolUseId}/result`, event.content)
  if (event.type === 'chat:complete') items.set(`answer ${items.size}`, event.text)
}

function keep(items: Map<string, unknown>, key: string, said: string): void {
  if (said === '') items.delete(key)
  else items.set(key, said)
}

// What a model says, and how the CLI prints it.

type Block =
  | { kind: 'text' | 'thinking'; pieces: string[] }
  | { kind: 'tool'; input: Record<string, string>; output: string }
  | { kind: 'blank' | 'redacted' }

interface Answer {
  blocks: Block[]
  /** Text of an attempt whose stream broke before this answer. */
  broken: string[] | null
  /** After a broken stream the CLI can ask again without streaming. */
  streamed: boolean
}

function conversation(): fc.Arbitrary<{ lines: Line[]; expected: unknown[] }> {
  return fc.array(fc.array(answer(), { maxLength: 4 }), { minLength: 1, maxLength: 4 }).map(print)
}

function answer(): fc.Arbitrary<Answer> {
  const pieces = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 })
  return fc.record({
    blocks: fc.array(
      fc.oneof(
        fc.record({ kind: fc.constantFrom('text' as const, 'thinking' as const), pieces }),
        fc.record({
          kind: fc.constant('tool' as const),
          input: fc.dictionary(fc.constantFrom('command', 'path'), fc.string()),
          output: fc.string(),
        }),
        fc.record({ kind: fc.constantFrom('blank' as const, 'redacted' as const) }),
      ),
      { maxLength: 5 },
    ),
    broken: fc.option(pieces),
    streamed: fc.boolean(),
  })
}

function print(turns: Answer[][]): { lines: Line[]; expected: unknown[] } {
  const lines: Line[] = []
  const expected: unknown[] = []
  let number = 0
  for (const [turn, answers] of turns.entries()) {
    lines.push(init())
    for (const answer of answers) {
      number++
      const id = `msg_${number}`
      if (answer.broken)
        lines.push(messageStart(`${id}_broken`), textStart(), ...answer.broken.map(textDelta))
      lines.push(...printAnswer(id, answer, expected))
    }
    lines.push(result({ result: `answer ${turn}` }))
    expected.push(`answer ${turn}`)
  }
  return { lines, expected }
}

function printAnswer(id: string, { blocks, streamed }: Answer, expected: unknown[]): Line[] {
  const results: Line[] = []
  const outputs: string[] = []
  const body = blocks.flatMap((block, index) => {
    const toolUseId = `${id}_tool_${index}`
    if (block.kind === 'tool') {
      results.push(toolResult(toolUseId, block.output))
      outputs.push(block.output)
      expected.push({ name: 'Bash', input: block.input })
    } else if ('pieces' in block) expected.push(block.pieces.join(''))
    const printed = printBlock(id, block, toolUseId)
    return streamed ? printed : printed.filter(line => line.type !== 'stream_event')
  })
  expected.push(...outputs)
  const frame = streamed ? [messageStart(id)] : []
  const end = streamed ? [messageDelta({ delta: {}, usage: { output_tokens: 5 } }), messageStop()] : []
  return [...frame, ...body, ...end, ...results]
}

/** As both CLI versions print it: the assistant event before the block stops, none at all for blank text. */
function printBlock(id: string, block: Block, toolUseId: string): Line[] {
  switch (block.kind) {
    case 'text':
      return [
        textStart(),
        ...block.pieces.map(textDelta),
        assistant(id, text(block.pieces.join(''))),
        blockStop(),
      ]
    case 'thinking':
      return [
        thinkingStart(),
        ...block.pieces.map(thinkingDelta),
        assistant(id, thinking(block.pieces.join(''))),
        blockStop(),
      ]
    case 'tool':
      return [
        toolStart(toolUseId),
        inputDelta(JSON.stringify(block.input)),
        assistant(id, toolUse(toolUseId, block.input)),
        blockStop(),
      ]
    case 'blank':
      return [textStart(), textDelta('\n\n'), blockStop()]
    case 'redacted': {
      const redacted = { type: 'redacted_thinking', data: 'abc' }
      return [blockStart(redacted), assistant(id, redacted), blockStop()]
    }
  }
}
