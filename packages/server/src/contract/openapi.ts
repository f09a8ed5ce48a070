import { z } from 'zod'
import { type Call, everyContractCall } from './calls.ts'
import { type Answer, ENDPOINTS, type Endpoint, errorAnswer } from './endpoints.ts'
import { cursor } from './values.ts'

type Json = Record<string, unknown>

/**
 * The content of `GET /openapi.json` and `docs/openapi.json`: every route and every procedure, from the schemas that
 * the server itself checks with. Built on demand, because it costs more than the rest of a start.
 */
export function openApi(version: string, procedures: ReadonlyMap<string, 'query' | 'mutation'>): Json {
  const schemas = new Components()
  const paths: Record<string, Json> = {}
  for (const endpoint of Object.values<Endpoint>(ENDPOINTS)) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint, schemas) }
  }
  for (const [name, call] of everyContractCall()) {
    const type = procedures.get(name)
    if (type !== undefined) paths[`/trpc/${name}`] = procedure(call, type, schemas)
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
      },
      schemas: schemas.all(),
    },
  }
}

const DESCRIPTION =
  'Sessions of coding agents. Routes under /trpc are procedures over HTTP: `input` is JSON, and the answer is in `result.data`. Subscriptions (`session.events`, `fleet.events`) are for the WebSocket at /trpc: see docs/api.md.'

function operation(endpoint: Endpoint, schemas: Components): Json {
  const { kind, summary, query, body, resumes, answer, refuses = [] } = endpoint
  const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '')
  const parameters = [
    ...inPath.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...(resumes ? resumeParameters(schemas) : []),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      ...{ name, in: 'query', required: !schema.safeParse(undefined).success },
      schema: schemas.of(schema as z.ZodType, 'input'),
    })),
  ]
  return {
    summary,
    ...(kind === 'call' ? {} : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: json(schemas.of(body, 'input')) } } : {}),
    responses: { [answer.status]: response(answer, schemas), ...refusals([...refuses, ...COMMON]) },
  }
}

/** Statuses of every route: invalid input, no token, a forbidden origin, an internal error. */
const COMMON = [400, 401, 403, 500]

function resumeParameters(schemas: Components): Json[] {
  const schema = schemas.of(cursor, 'input')
  return [
    { name: 'Last-Event-ID', in: 'header', schema },
    { name: 'after', in: 'query', description: 'The same, for who cannot set a header.', schema },
  ]
}

function response(answer: Answer, schemas: Components): Json {
  const { description } = answer
  if ('json' in answer) return { description, content: json(schemas.of(answer.json, 'output')) }
  if ('events' in answer) {
    const schema = { type: 'string', description: 'Each `data` line is JSON, as in `x-data`.' }
    const data = schemas.of(answer.events, 'output')
    return { description, content: { 'text/event-stream': { schema, 'x-data': data } } }
  }
  return 'file' in answer ? { description, content: { 'application/octet-stream': {} } } : { description }
}

function refusals(statuses: readonly number[]): Json {
  const sorted = [...new Set(statuses)].sort((a, b) => a - b)
  return Object.fromEntries(sorted.map(status => [status, { $ref: '#/components/responses/Refused' }]))
}

/** A tRPC procedure over HTTP. */
function procedure({ input, output }: Call, type: 'query' | 'mutation', schemas: Components): Json {
  const data = output && !(output instanceof z.ZodVoid) ? { data: schemas.of(output, 'output') } : {}
  const result = { type: 'object', properties: { result: { type: 'object', properties: data } } }
  const responses = { 200: { description: 'The answer', content: json(result) } }
  if (type === 'mutation') {
    const body = input && { requestBody: { content: json(schemas.of(input, 'input')) } }
    return { post: { ...body, responses } }
  }
  const query = input && [{ name: 'input', in: 'query', content: json(schemas.of(input, 'input')) }]
  return { get: { ...(query ? { parameters: query } : {}), responses } }
}

function json(schema: unknown): Json {
  return { 'application/json': { schema } }
}

/** Schemas with an `id` are listed once, under `components`. */
class Components {
  readonly #named = new Map<string, unknown>()

  of(schema: z.ZodType, io: 'input' | 'output'): unknown {
    const { $schema: _, $defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
    for (const [name, definition] of Object.entries($defs ?? {})) this.#add(name, definition)
    const { id } = z.globalRegistry.get(schema) ?? {}
    if (id === undefined) return pointed(rest)
    this.#add(id, rest)
    return { $ref: `#/components/schemas/${id}` }
  }

  #add(name: string, definition: unknown): void {
    const { id: _, ...rest } = pointed(definition) as Json
    this.#named.set(name, rest)
  }

  all(): Json {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** Rewrites references within one schema to references within the document. */
function pointed(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
