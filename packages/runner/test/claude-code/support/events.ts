import type { RecordedRequest, ScriptedModel } from '@chirality/scripted-model'

export { collect, collectAnd, expectOneEnd, fileAppears, ofType, statuses } from '../../support/turns.ts'

/** The bodies of the main conversation's model requests, in order. */
export function bodies(model: ScriptedModel): MessagesBody[] {
  return modelRequests(model).map(({ body }) => body as MessagesBody)
}

export function lastBody(model: ScriptedModel): MessagesBody {
  const body = bodies(model).at(-1)
  if (!body) throw new Error('the model was never asked')
  return body
}

export function modelRequests(model: ScriptedModel): RecordedRequest[] {
  return model.requests.filter(({ path, served }) => path === '/v1/messages' && !served.startsWith('side:'))
}

export interface MessagesBody {
  model: string
  system?: unknown
  messages: { role: string; content: unknown }[]
  tools?: { name: string }[]
  output_config?: { effort?: string }
  thinking?: { type?: string; budget_tokens?: number }
}

/** All that a request tells the model beside the conversation: releases put it in `system` or in system messages. */
export function systemText(body: MessagesBody): string {
  return JSON.stringify([body.system, body.messages.filter(({ role }) => role !== 'assistant')])
}
