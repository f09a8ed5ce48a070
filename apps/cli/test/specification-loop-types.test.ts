import type { RuntimeDecision, RuntimeEvent } from '@chirality/runner/agent-sdk'
import type { Config, EventHandler, Tool } from '@chirality/runner/messages-api'
import { expect, test } from 'vitest'
import { fits, takes } from './support/type-relations.ts'

test('003: the configuration, the tools and the events of the loop', () => {
  interface SpecConfig {
    apiKey: string
    model?: string
    maxTokens?: number
    systemPrompt?: string
    maxTurns?: number
  }
  expect(takes<Config>()<SpecConfig>()).toBe(true)
  interface SpecTool {
    name: string
    description: string
    inputSchema: Record<string, unknown>
    execute(input: Record<string, unknown>, context: { signal: AbortSignal }): Promise<string>
  }
  expect(takes<Tool>()<SpecTool>()).toBe(true)
  interface SpecHandler {
    onText(text: string): void
    onToolCall(id: string, name: string, input: Record<string, unknown>): void
    onToolResult(id: string, result: string, isError: boolean): void
  }
  expect(takes<EventHandler>()<SpecHandler>()).toBe(true)
})

test('004: what a hook tells and what is decided about it', () => {
  type Kind =
    | ('tool.pre' | 'tool.post' | 'stop.request' | 'session.start' | 'session.end' | 'subagent.start')
    | ('subagent.stop' | 'user.prompt' | 'compact.pre' | 'notification')
  expect(takes<RuntimeEvent['kind']>()<Kind>()).toBe(true)
  expect(fits<{ expectsDecision: boolean }>()<RuntimeEvent>()).toBe(true)
  expect(takes<RuntimeDecision>()<{ type: 'passthrough' } | { type: 'block'; reason: string }>()).toBe(true)
})
