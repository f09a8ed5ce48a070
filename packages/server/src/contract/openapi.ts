import { type Answered, cursor, EVERY_CALL } from '@chirality/centre'
import { z } from 'zod'
import { type Answer, ENDPOINTS, type Endpoint } from './endpoints.ts'
import { callErrorAnswer, errorAnswer } from './error-answers.ts'

type Json = Record<string, unknown>

/**
 * The content of `GET /openapi.json` and `docs/openapi.json`: every route and every procedure, from the schemas that
 * the server itself checks with. Built on demand, because it costs more than the rest of a start.
 */
export function openApi(version: string): Json {
  const schemas = new Components()
  const paths: Record<string, Json> = {}
  for (const [operationId, endpoint] of Object.entries<Endpoint>(ENDPOINTS)) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    const described = { operationId, ...operation(endpoint, schemas) }
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: described }
  }
  for (const [name, call] of EVERY_CALL) {
    if (call.kind === 'subscription') continue
    const described = { operationId: name.replaceAll('.', '_'), ...procedure(call, schemas) }
    paths[`/trpc/${name}`] = { [call.kind === 'mutation' ? 'post' : 'get']: described }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Chirality', version, description: DESCRIPTION },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: {
        Refused: { description: 'What is wrong', content: json(schemas.of(errorAnswer, 'output')) },
        CallRefused: {
          description: 'What is wrong: as the procedure says it, or as the server does before it calls one',
          content: json({
            anyOf: [callErrorAnswer, errorAnswer].map(schema => schemas.of(schema, 'output')),
          }),
        },
      },
      schemas: schemas.all(),
    },
  }
}

const DESCRIPTION =
  'Sessions of coding agents. Routes under /trpc are procedures over HTTP: `input` is JSON, and the answer is in `result.data`. Subscriptions (`session.events`, `fleet.events`) are for the WebSocket at /trpc: see docs/api.md.'

function operation(endpoint: Endpoint, schemas: Components): Json {
  const { kind, summary, query, body, resumes, answer, also, refusal, refuses = [] } = endpoint
  const statuses = [...refuses, ...COMMON, ...(body ? [413] : [])]
  const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '')
  const parameters = [
    ...inPath.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...(resumes ? resumeParameters(schemas) : []),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: !schema.safeParse(undefined).success,
      schema: schemas.of(schema as z.ZodType, 'input'),
    })),
  ]
  return {
    summary,
    ...(kind === 'call' ? {} : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: json(schemas.of(body, 'input')) } } : {}),
    responses: {
      [answer.status]: response(answer, schemas),
      ...(also ? { [also.status]: response(also, schemas) } : {}),
      ...refusals(statuses, refusal && refusedAs(refusal, schemas)),
    },
  }
}

/**
 * Statuses of every route: invalid input, no token, a forbidden origin, another method, a body that is not JSON, too many
 * headers, an internal error, a full disk.
 */
const COMMON = [400, 401, 403, 405, 415, 431, 500, 503]

function resumeParameters(schemas: Components): Json[] {
  const schema = schemas.of(cursor, 'input')
  return [
    { name: 'Last-Event-ID', in: 'header', schema },
    { name: 'after', in: 'query', description: 'The same, for who cannot set a header.', schema },
  ]
}

function response(answer: Answer, schemas: Components): Json {
  const { description } = answer
  if ('json' in answer) {
    const schema = schemas.of(answer.json, 'output')
    return { description, content: { ...json(schema), ...(answer.streamed ? stream(schema) : {}) } }
  }
  if ('events' in answer) return { description, content: stream(schemas.of(answer.events, 'output')) }
  return 'file' in answer ? { description, content: { 'application/octet-stream': {} } } : { description }
}

function refusals(
  statuses: readonly number[],
  refused: Json = { $ref: '#/components/responses/Refused' },
): Json {
  const sorted = [...new Set(statuses)].sort((a, b) => a - b)
  return Object.fromEntries(sorted.map(status => [status, refused]))
}

/** Of a route that speaks a protocol of its own. */
function refusedAs(refusal: z.ZodType, schemas: Components): Json {
  const anyOf = [refusal, errorAnswer].map(schema => schemas.of(schema, 'output'))
  return { description: 'What is wrong', content: json({ anyOf }) }
}

/** A tRPC procedure over HTTP. */
function procedure({ about, kind, input, output }: Answered, schemas: Components): Json {
  const refused = { $ref: '#/components/responses/CallRefused' }
  const responses = {
    200: { description: 'The answer', content: json(callAnswer(output, schemas)) },
    '4XX': refused,
    '5XX': refused,
  }
  if (input === undefined) return { summary: about, responses }
  const required = !input.safeParse(undefined).success
  const content = json(schemas.of(input, 'input'))
  if (kind === 'mutation') return { summary: about, requestBody: { required, content }, responses }
  return { summary: about, parameters: [{ name: 'input', in: 'query', required, content }], responses }
}

/** JSON has no undefined: an answer that is it has no `data`. */
function callAnswer(output: z.ZodType, schemas: Components): Json {
  const answers = !(output instanceof z.ZodVoid)
  const required = answers && !output.safeParse(undefined).success ? { required: ['data'] } : {}
  const properties = answers ? { data: schemas.of(output, 'output') } : {}
  const result = { type: 'object', properties, ...required, additionalProperties: false }
  return { type: 'object', properties: { result }, required: ['result'], additionalProperties: false }
}

function stream(data: unknown): Json {
  const schema = { type: 'string', description: 'Each `data` line is JSON, as in `x-data`.' }
  return { 'text/event-stream': { schema, 'x-data': data } }
}

function json(schema: unknown): Json {
  return { 'application/json': { schema } }
}

/** Schemas with an `id` are listed once, under `components`. */
class Components {
  readonly #named = new Map<string, string>()

  of(schema: z.ZodType, io: 'input' | 'output'): unknown {
    const options = { io, unrepresentable: 'any' as const, override: withKnownFormat }
    const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, options) as Json
    for (const [name, definition] of Object.entries($defs ?? {})) this.#add(name, definition)
    const { id } = z.globalRegistry.get(schema) ?? {}
    if (id === undefined) return pointed(rest)
    // Of a schema that is used within itself, `rest` is only a reference to its definition.
    if (!('$ref' in rest)) this.#add(id, rest)
    return { $ref: `#/components/schemas/${id}` }
  }

  #add(name: string, definition: unknown): void {
    const { id: _, ...rest } = pointed(definition) as Json
    const text = JSON.stringify(rest)
    if ((this.#named.get(name) ?? text) !== text) throw new Error(`Two schemas have the id ${name}.`)
    this.#named.set(name, text)
  }

  all(): Json {
    const sorted = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(sorted.map(([name, text]) => [name, JSON.parse(text)]))
  }
}

/** `contentEncoding` says it; as a format, base64 is unknown to validators, and strict ones refuse it. */
function withKnownFormat({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.contentEncoding !== undefined) delete jsonSchema.format
}

/** Rewrites references within one schema to references within the document. */
function pointed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
