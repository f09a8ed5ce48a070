import type { IncomingMessage } from 'node:http'
import { checked, describeProblems } from '@chirality/centre'
import type { z } from 'zod'
import type { Endpoint } from '../contract/endpoints.ts'
import { HttpError } from '../http/http-error.ts'
import { sendJson, sendNothing } from '../http/respond.ts'
import type { Route, RouteRequest } from '../http/routes.ts'

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined
type Json<E extends Endpoint> = E['answer'] extends { json: infer S extends z.ZodType } ? [z.output<S>] : []

export interface EndpointCall<E extends Endpoint> extends RouteRequest {
  query: Parsed<E['query']>
  readBody(limits: BodyLimits): Promise<Parsed<E['body']>>
  /** The answer of the endpoint, with its status; undefined for a stream or a file, which write themselves. */
  reply(...answer: Json<E>): void
}

/** A route of the contract: its input is checked by the schemas, and its answer has their types. */
export function route<const E extends Endpoint>(
  endpoint: E,
  handle: (call: EndpointCall<E>) => void | Promise<void>,
): Route {
  const { method, path, kind, query, body, answer } = endpoint
  return {
    method,
    path,
    kind,
    endpoint,
    handle: request => {
      const { response, url } = request
      return handle({
        ...request,
        query: query && (parseQuery(query, url) as Parsed<E['query']>),
        readBody: async limits =>
          body && ((await readBody(request.request, body, limits)) as Parsed<E['body']>),
        reply: (...[value]) => {
          if ('json' in answer) sendJson(response, answer.status, checked(answer.json)(value))
          else sendNothing(response)
        },
      } as EndpointCall<E>)
    },
  }
}

function parseQuery(schema: z.ZodObject, url: URL): unknown {
  const parsed = schema.safeParse(Object.fromEntries(url.searchParams))
  if (parsed.success) return parsed.data
  throw new HttpError(400, 'invalid-input', describeProblems(parsed.error))
}

interface BodyLimits {
  maxBytes: number
  /** A slower body is cut off. */
  withinMs?: number
}

/** The validated JSON of a request. Any error in it is an HttpError that says what is wrong. */
async function readBody<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  { maxBytes, withinMs }: BodyLimits,
): Promise<z.output<S>> {
  const deadline = withinMs === undefined ? undefined : setTimeout(() => request.destroy(), withinMs)
  const text = await readText(request, maxBytes).finally(() => clearTimeout(deadline))
  const result = schema.safeParse(parse(text))
  if (result.success) return result.data
  throw new HttpError(400, 'invalid-input', describeProblems(result.error))
}

async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = new HttpError(413, 'too-large', `The body is larger than ${maxBytes} bytes.`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** No body is treated as an empty object: `POST /cancel` has none. */
function parse(text: string): unknown {
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new HttpError(400, 'invalid-json', 'The body is not JSON.')
  }
}
