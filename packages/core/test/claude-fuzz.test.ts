import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { UIEvent, UIEventType } from '../src/index.ts'
import { CORPUS } from './support/claude-corpus.ts'
import { SESSION, translate } from './support/claude-lines.ts'

describe('E82: nothing that an agent prints makes the translator throw', () => {
  test('lines with fields missing or wrong', () => {
    fc.assert(
      fc.property(fc.array(mutatedLine(), { minLength: 1, maxLength: 12 }), lines => {
        for (const event of translate(lines).events) checkShape(event)
      }),
      { numRuns: 2000 },
    )
  })

  test('any JSON at all', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), lines => {
        const { events } = translate(lines)
        expect(events).toHaveLength(lines.length)
        for (const event of events) checkShape(event)
      }),
    )
  })

  test('every line of the corpus as it is, in any order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...CORPUS]), lines => {
        for (const event of translate(lines).events) {
          checkShape(event)
          expect(event.type).not.toBe('native:unknown')
        }
      }),
    )
  })
})

type Path = (string | number)[]

function mutatedLine(): fc.Arbitrary<unknown> {
  return fc
    .constantFrom(...CORPUS)
    .chain(line =>
      fc
        .array(fc.record({ path: fc.constantFrom(...pathsOf(line)), change: change() }), { maxLength: 3 })
        .map(mutations =>
          mutations.reduce<unknown>((value, { path, change }) => mutate(value, path, change), line),
        ),
    )
}

type Change = { drop: true } | { drop: false; value: unknown }

function change(): fc.Arbitrary<Change> {
  return fc.oneof(
    fc.constant<Change>({ drop: true }),
    fc
      .oneof(
        fc.constantFrom(null, '', 0, -1, true, [], {}, '__proto__', 1e308),
        fc.jsonValue({ maxDepth: 2 }),
      )
      .map((value): Change => ({ drop: false, value })),
  )
}

function pathsOf(value: unknown, prefix: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return prefix.length > 0 ? [prefix] : []
  const keys: Path = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  const inner = keys.flatMap(key =>
    pathsOf((value as Record<string | number, unknown>)[key], [...prefix, key]),
  )
  return prefix.length > 0 ? [prefix, ...inner] : inner
}

function mutate(value: unknown, [key, ...rest]: Path, change: Change): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      if (index !== key) return [item]
      if (rest.length > 0) return [mutate(item, rest, change)]
      return change.drop ? [] : [change.value]
    })
  }
  const { [key]: old, ...others } = value as Record<string | number, unknown>
  if (rest.length > 0) return { ...others, [key]: mutate(old, rest, change) }
  return change.drop ? others : { ...others, [key]: change.value }
}

type Check = 'string' | 'number' | 'boolean' | 'object' | 'array'

const SHAPES: Partial<Record<UIEventType, Record<string, Check>>> = {
  'chat:complete': { text: 'string' },
  'chat:delta': { text: 'string', messageId: 'string' },
  'chat:message': { text: 'string', messageId: 'string' },
  'chat:thinking': { text: 'string', messageId: 'string' },
  'native:unknown': { nativeType: 'string', harness: 'string' },
  'permission:request': { requestId: 'string', kind: 'string', toolName: 'string', input: 'object' },
  'permission:resolved': { requestId: 'string', outcome: 'string', by: 'string' },
  'session:complete': { costUsd: 'number', usage: 'object' },
  'session:error': { error: 'string', code: 'string', costUsd: 'number', usage: 'object' },
  'session:init': { model: 'string', tools: 'array' },
  status: { status: 'string', message: 'string', level: 'string' },
  'tool:input': { toolUseId: 'string' },
  'tool:result': { toolUseId: 'string', content: 'string', isError: 'boolean' },
  'tool:start': { toolUseId: 'string', name: 'string', input: 'object' },
  usage: { usage: 'object' },
}

function checkShape(event: UIEvent): void {
  expect(event.sessionId).toBe(SESSION)
  const shape = SHAPES[event.type]
  expect(shape, `the translator makes no ${event.type}`).toBeDefined()
  for (const [field, check] of Object.entries(shape ?? {})) {
    const value = (event as unknown as Record<string, unknown>)[field]
    const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    expect(kind, `${field} of ${JSON.stringify(event)}`).toBe(check)
  }
  const numbers = Object.values(event).filter(value => typeof value === 'number')
  expect(numbers.every(Number.isFinite), `a number of ${JSON.stringify(event)}`).toBe(true)
}
