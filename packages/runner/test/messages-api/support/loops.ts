import { type Script, type ScriptedModel, startScriptedModel } from '@chirality/scripted-model'
import { afterEach } from 'vitest'
import { AgentLoop, type Config, type EventHandler, type Tool } from '../../../src/messages-api/index.ts'

export interface LoopWorld {
  /** A loop on a scripted model that ends with the test. */
  open(script: Script, parts?: LoopParts): Promise<{ loop: AgentLoop; model: ScriptedModel; told: Told[] }>
}

export interface LoopParts {
  config?: Partial<Config>
  tools?: Tool[]
  handler?: EventHandler
}

/** What the handler heard, in order. */
export type Told = [string, ...unknown[]]

export function useLoops(): LoopWorld {
  const models: ScriptedModel[] = []
  afterEach(async () => {
    for (const model of models.splice(0)) await model.close()
  })
  return {
    async open(script, { config, tools = [], handler } = {}) {
      const model = await startScriptedModel(script)
      models.push(model)
      const told: Told[] = []
      const listener = handler ?? {
        onUser: content => told.push(['user', content]),
        onText: text => told.push(['text', text]),
        onReasoning: text => told.push(['reasoning', text]),
        onToolCall: (id, name, input) => told.push(['call', id, name, input]),
        onToolResult: (id, result, isError) => told.push(['result', id, result, isError]),
        onRetry: ({ attempt, error }) => told.push(['retry', attempt, error.status]),
        onFallback: (from, to) => told.push(['fallback', from, to]),
      }
      const loop = new AgentLoop({ apiKey: 'dummy', baseUrl: model.url, ...config }, tools, listener)
      return { loop, model, told }
    },
  }
}

/** Answers with what it was given, or fails when it is told to. */
export function echo(name = 'echo', calls: unknown[] = []): Tool {
  return {
    name,
    description: 'Says it again',
    inputSchema: { type: 'object', properties: { say: { type: 'string' }, fail: { type: 'boolean' } } },
    execute: async input => {
      calls.push(input)
      if (input.fail === true) throw new Error(`${name} failed`)
      return `${name}: ${String(input.say)}`
    },
  }
}
