import type { ScriptedModel } from '../src/index.ts'

export interface SseEvent {
  type: string
  [key: string]: unknown
}

/** A request as Claude Code sends it, as far as the scripted model looks at it. */
export function ask(
  model: ScriptedModel,
  body: Record<string, unknown> = {},
  init: RequestInit = {},
): Promise<Response> {
  return post(`${model.url}/v1/messages?beta=true`, { ...userSays('hello'), stream: true, ...body }, init)
}

export function askResponses(model: ScriptedModel, body: Record<string, unknown> = {}): Promise<Response> {
  return post(`${model.openaiUrl}/responses`, { model: 'scripted', input: 'hello', stream: true, ...body })
}

export function userSays(text: string): Record<string, unknown> {
  return { model: 'claude-test-1', max_tokens: 100, messages: [{ role: 'user', content: text }] }
}

export function post(url: string, body: unknown, { headers, ...init }: RequestInit = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })
}

export function parseSse(text: string): SseEvent[] {
  return text
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => {
      const [eventLine = '', dataLine = ''] = frame.split('\n')
      const event = JSON.parse(dataLine.replace(/^data: /, '')) as SseEvent
      if (eventLine !== `event: ${event.type}`) throw new Error(`event line and data differ: ${frame}`)
      return event
    })
}

export async function events(response: Promise<Response> | Response): Promise<SseEvent[]> {
  return parseSse(await (await response).text())
}

/** The text of all deltas. */
export function streamedText(list: SseEvent[]): string {
  return list.map(event => (event.delta as { text?: string } | undefined)?.text ?? '').join('')
}

/** Reads until the stream breaks or ends; says what arrived and whether it broke. */
export async function readUntilBroken(response: Response): Promise<{ text: string; broken: boolean }> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true })
    return { text, broken: false }
  } catch {
    return { text, broken: true }
  }
}
