import { expect } from 'vitest'
import type { UIEvent, UIEventType } from '../../src/index.ts'

/** What every reader of an event relies on, whatever the agent printed. */
export function checkShape(event: UIEvent, sessionId: string): void {
  expect(event.sessionId).toBe(sessionId)
  const shape = SHAPES[event.type]
  expect(shape, `the translator makes no ${event.type}`).toBeDefined()
  for (const [field, check] of Object.entries(shape ?? {})) {
    const value = (event as unknown as Record<string, unknown>)[field]
    const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    if (check === 'number?' && value === undefined) continue
    expect(kind, `${field} of ${JSON.stringify(event)}`).toBe(check.replace('?', ''))
  }
  const parts: object[] = event.type === 'limits' ? event.windows : [event]
  const numbers = parts.flatMap(part => Object.values(part).filter(value => typeof value === 'number'))
  expect(numbers.every(Number.isFinite), `a number of ${JSON.stringify(event)}`).toBe(true)
}

/** `number?` may be left out: nobody knows it. */
type Check = 'string' | 'number' | 'number?' | 'boolean' | 'object' | 'array'

const SHAPES: Partial<Record<UIEventType, Record<string, Check>>> = {
  'chat:complete': { text: 'string' },
  'chat:delta': { text: 'string', messageId: 'string' },
  'chat:message': { text: 'string', messageId: 'string' },
  'chat:thinking': { text: 'string', messageId: 'string' },
  limits: { windows: 'array' },
  'native:unknown': { nativeType: 'string', harness: 'string' },
  'permission:request': { requestId: 'string', kind: 'string', toolName: 'string', input: 'object' },
  'permission:resolved': { requestId: 'string', outcome: 'string', by: 'string' },
  'session:complete': { costUsd: 'number?', usage: 'object' },
  'session:error': { error: 'string', code: 'string', costUsd: 'number?', usage: 'object' },
  'session:init': { model: 'string', tools: 'array' },
  status: { status: 'string', message: 'string', level: 'string' },
  'tool:input': { toolUseId: 'string' },
  'tool:result': { toolUseId: 'string', content: 'string', isError: 'boolean' },
  'tool:start': { toolUseId: 'string', name: 'string', input: 'object' },
  usage: { usage: 'object' },
}
