import type { UIEvent } from '@chirality/core'
import type { ScriptedModel } from '@chirality/scripted-model'
import { expect } from 'vitest'
import { expectOneEnd as expectProcessEnd, ofType } from '../../support/turns.ts'
import type { Voice } from './world.ts'

export { collect, collectAnd, fileAppears, ofType, statuses } from '../../support/turns.ts'

/** What every turn promises, however it went. Through an app-server the process goes on, so `turn:end` is the last. */
export function expectOneEnd(events: UIEvent[], voice: Voice): { reason: string } {
  if (voice === 'exec') return expectProcessEnd(events)
  expect(events[0]?.type).toBe('turn:start')
  expect(events.at(-1)?.type).toBe('turn:end')
  const [end, ...others] = ofType(events, 'turn:end')
  expect(others).toEqual([])
  expect(ofType(events, 'process:exit')).toEqual([])
  return { reason: end?.reason ?? '' }
}

export interface ResponsesBody {
  model: string
  instructions?: string
  input: { type?: string; role?: string; content?: unknown; output?: unknown; arguments?: unknown }[]
  tools?: { name?: string; type: string }[]
  reasoning?: { effort?: string; summary?: string }
  text?: { format?: unknown }
}

/** The bodies of the main conversation's model requests, in order. */
export function bodies(model: ScriptedModel): ResponsesBody[] {
  return model.requests
    .filter(({ path, served }) => path === '/v1/responses' && !served.startsWith('side:'))
    .map(({ body }) => body as ResponsesBody)
}

export function lastBody(model: ScriptedModel): ResponsesBody {
  const body = bodies(model).at(-1)
  if (!body) throw new Error('the model was never asked')
  return body
}

/** All that the model is told. */
export function told(model: ScriptedModel): string {
  return JSON.stringify(lastBody(model).input)
}

/** What the tools of the conversation have said so far. */
export function toolOutputs(model: ScriptedModel): string {
  return JSON.stringify(lastBody(model).input.filter(({ type }) => type?.endsWith('_output')))
}

/** A command as the classic tools of Codex run it. */
export function run(cmd: string, fields: Record<string, unknown> = {}) {
  return { tool: 'exec_command', input: { cmd, ...fields } }
}
