import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AnswerRouter } from './answer/answer-router.ts'
import { chatCompletions } from './answer/chat-completions.ts'
import { deliver, sendJson } from './answer/deliver.ts'
import { geminiApi } from './answer/gemini-api.ts'
import { messagesApi } from './answer/messages-api.ts'
import { responsesApi } from './answer/responses-api.ts'
import type { StallGate } from './answer/stall-gate.ts'
import type { WireFormat } from './answer/wire-format.ts'
import {
  chatFacts,
  geminiFacts,
  messagesFacts,
  type RequestFacts,
  responsesFacts,
} from './request/request-facts.ts'
import type { RecordedRequest, RequestLog } from './request/request-log.ts'
import type { Script } from './script/script.ts'

export interface Conversation {
  script: Script
  router: AnswerRouter
  log: RequestLog
  gate: StallGate
}

/** Answers one HTTP request. Never rejects: a client that leaves is an ordinary end. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  conversation: Conversation,
): Promise<void> {
  const leaving = new AbortController()
  response.once('close', () => leaving.abort())
  const text = await readBody(request).catch(() => undefined)
  if (text === undefined) return
  const [path = '/', query] = (request.url ?? '/').split(/(?=\?)/)
  const recorded: RecordedRequest = {
    method: request.method ?? 'GET',
    path,
    query: query ?? '',
    headers: request.headers,
    body: parseJson(text),
    served: '',
    state: 'answering',
    at: Date.now(),
  }
  const exchange = { recorded, response, conversation, signal: leaving.signal }
  const endpoint = ENDPOINTS[`${recorded.method} ${recorded.path}`] ?? geminiEndpoint(recorded) ?? notFound
  try {
    const ended = await endpoint(exchange)
    conversation.log.setState(recorded, ended)
  } catch (error) {
    if (!leaving.signal.aborted) throw error
    conversation.log.setState(recorded, 'left')
  }
}

interface Exchange {
  recorded: RecordedRequest
  response: ServerResponse
  conversation: Conversation
  signal: AbortSignal
}

type Endpoint = (exchange: Exchange) => Promise<'done' | 'cut'> | 'done'

const ENDPOINTS: Record<string, Endpoint> = {
  'POST /v1/messages': exchange => answer(exchange, messagesApi, messagesFacts),
  'POST /v1/messages/count_tokens': exchange => countTokens(exchange),
  'POST /v1/responses': exchange => answer(exchange, responsesApi, responsesFacts),
  'POST /v1/chat/completions': exchange => answer(exchange, chatCompletions, chatFacts),
  'GET /v1/models': listModels,
}

/** Gemini names the model and the method in the path. */
function geminiEndpoint({ method, path }: RecordedRequest): Endpoint | undefined {
  const [, model = '', action] = method === 'POST' ? (GEMINI_PATH.exec(path) ?? []) : []
  if (action === undefined) return undefined
  if (action === 'countTokens') return exchange => countTokens(exchange, 'totalTokens')
  const stream = action === 'streamGenerateContent'
  return exchange => answer(exchange, geminiApi, body => geminiFacts(body, { model, stream }))
}

const GEMINI_PATH =
  /^\/v1(?:alpha|beta|beta1)?\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

const CHARACTERS_PER_TOKEN = 4
/** For answers that are not in the script. */
const NO_REQUEST_ID = 'req_none'

function answer(
  { recorded, response, conversation, signal }: Exchange,
  wire: WireFormat,
  factsOf: (body: unknown, headers: IncomingHttpHeaders) => RequestFacts,
): Promise<'done' | 'cut'> | 'done' {
  const { log, router, gate } = conversation
  if (typeof recorded.body !== 'object' || recorded.body === null) {
    log.add(recorded)
    sendJson(
      response,
      400,
      wire.errorBody({ status: 400, message: 'The body is not a JSON object.' }, NO_REQUEST_ID),
    )
    return 'done'
  }
  const facts = factsOf(recorded.body, recorded.headers)
  const { answer, path, nth } = router.next(facts)
  const id = idOf(facts.messageCount, path, nth)
  const requestId = `req_${id}`
  recorded.served = path
  response.setHeader('request-id', requestId)
  response.setHeader('x-request-id', requestId)
  log.add(recorded)
  return deliver(answer, {
    response,
    wire,
    stream: facts.stream,
    signal,
    context: { model: facts.model, requestId, id },
    stall: async () => {
      const held = gate.hold(signal)
      log.setState(recorded, 'stalled')
      await held
      log.setState(recorded, 'answering')
    },
  })
}

function countTokens(
  { recorded, response, conversation: { log, script } }: Exchange,
  field = 'input_tokens',
): 'done' {
  log.add(recorded)
  const estimate = Math.ceil((JSON.stringify(recorded.body) ?? '').length / CHARACTERS_PER_TOKEN)
  sendJson(response, 200, { [field]: script.countTokens ?? estimate })
  return 'done'
}

function listModels({ recorded, response, conversation: { log } }: Exchange): 'done' {
  log.add(recorded)
  sendJson(response, 200, {
    object: 'list',
    data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'scripted-model' }],
  })
  return 'done'
}

function notFound({ recorded, response, conversation: { log } }: Exchange): 'done' {
  const message = `No such endpoint: ${recorded.method} ${recorded.path}`
  const openai = recorded.path.startsWith('/v1/') && recorded.headers['anthropic-version'] === undefined
  const wire = openai ? responsesApi : messagesApi
  const body = wire.errorBody({ status: 404, message }, NO_REQUEST_ID)
  log.add(recorded)
  sendJson(response, 404, body)
  return 'done'
}

/**
 * Made of the answer's place in the script, not of a count of requests: probes and side requests come when they like, and
 * a golden file must not see them. The number of messages keeps ids apart when another server goes on with a conversation.
 */
function idOf(messageCount: number, path: string, nth: number): string {
  const place = path.replace('routes', 'r').replace('answers', 'a').replace(/\W/g, '')
  return `${messageCount}_${place}${nth > 1 ? `x${nth}` : ''}`
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
