import { EXPORT_FORMATS } from '@chirality/sessions'
import { z } from 'zod'
import { sendJson } from '../http/respond.ts'
import type { Route } from '../http/routes.ts'
import * as inputs from '../trpc/inputs.ts'
import { trustInput } from '../trpc/trust-router.ts'
import { SIGN_IN } from './basic-routes.ts'
import { PROMPT } from './core-routes.ts'

/** `GET /openapi.json`: the REST and SSE routes, for tools that make clients of it. */
export function openApiRoute(version: string): Route {
  return {
    method: 'GET',
    path: '/openapi.json',
    kind: 'call',
    handle: ({ response }) => sendJson(response, 200, openApi(version)),
  }
}

export function openApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Chirality',
      version,
      description:
        'Sessions of coding agents. tRPC, which the dashboard uses, is at /trpc and not described here.',
    },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
    },
    security: [{ token: [] }],
    paths: paths(),
  }
}

const ERROR = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'string' }, message: { type: 'string' } },
    },
  },
}

const FAILED = { description: 'What is wrong', content: json({ $ref: '#/components/schemas/Error' }) }
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } }
const OPEN = { security: [] }
const SESSION_ID = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const AFTER = { name: 'Last-Event-ID', in: 'header', schema: { type: 'integer' } }
const AS = { name: 'as', in: 'query', schema: { enum: ['envelopes'] } }
const FORMAT = { name: 'format', in: 'query', schema: { enum: EXPORT_FORMATS } }
const PROJECT = { name: 'projectRoot', in: 'query', required: true, schema: { type: 'string' } }
const OTHER_SESSION = { name: 'session', in: 'query', schema: { type: 'string' } }

/** Made when it is asked for: the schemas cost more than the rest of a start. */
const paths = () => ({
  '/healthz': { get: operation('Whether the server is there', { 200: ok('It is') }, OPEN) },
  '/api/sign-in': {
    post: operation(
      'Exchanges the secret of a sign-in link, or a signed challenge, for a token',
      { 200: ok('The token'), 401: FAILED, 429: FAILED },
      {
        ...OPEN,
        ...body(SIGN_IN),
      },
    ),
  },
  '/api/sign-in/challenge': {
    post: operation('What a browser signs with its key', { 200: ok('The challenge') }, OPEN),
  },
  '/api/harness/turn': {
    post: operation(
      'Runs a turn and streams its UI events',
      { 200: { description: 'UI events until the turn is over', content: EVENTS }, 404: FAILED, 409: FAILED },
      { ...body(inputs.turnInput), parameters: [AS] },
    ),
  },
  '/api/harness/interrupt': {
    post: operation(
      'Interrupts the turn of a session',
      { 200: ok('Done'), 404: FAILED },
      body(inputs.bySession),
    ),
  },
  '/api/harness/decisions': {
    get: operation(
      'Permission requests that wait for an answer, oldest first',
      { 200: ok('The requests'), 404: FAILED },
      { parameters: [{ name: 'sessionId', in: 'query', schema: { type: 'string' } }] },
    ),
    post: operation(
      'Allows or denies a permission request. The first answer counts',
      { 204: { description: 'The agent has it' }, 404: FAILED, 409: FAILED },
      body(inputs.answer),
    ),
  },
  '/api/harness/session/create': {
    post: operation(
      'Makes a session',
      { 201: ok('The session'), 403: FAILED },
      body(inputs.newSession.omit({ project: true }).extend({ projectRoot: inputs.project })),
    ),
  },
  '/api/harness/trust': {
    get: operation(
      'What a project brings for its agents to run, and whether they use it',
      { 200: ok('The files, with their contents and a fingerprint'), 403: FAILED },
      { parameters: [PROJECT] },
    ),
    post: operation(
      'Lets agents use exactly the files that were shown',
      { 200: ok('The files'), 403: FAILED, 409: FAILED },
      body(trustInput.omit({ project: true }).extend({ projectRoot: inputs.project })),
    ),
    delete: operation('Takes that back', { 200: ok('The files'), 403: FAILED }, { parameters: [PROJECT] }),
  },
  '/api/harness/session/list': {
    get: operation(
      'Sessions, newest first',
      { 200: ok('Sessions') },
      {
        parameters: [{ name: 'projectRoot', in: 'query', schema: { type: 'string' } }],
      },
    ),
  },
  '/api/harness/session/{id}': {
    get: operation('A session', { 200: ok('The session'), 404: FAILED }, { parameters: [SESSION_ID] }),
    delete: operation(
      'Deletes a session and all that is kept of it',
      { 204: { description: 'Gone' }, 404: FAILED },
      { parameters: [SESSION_ID] },
    ),
  },
  '/api/harness/session/{id}/events': {
    get: operation(
      'All events of a session, from a cursor on',
      { 200: { description: 'UI events', content: EVENTS }, 404: FAILED },
      { parameters: [SESSION_ID, AFTER, AS] },
    ),
  },
  '/api/harness/session/{id}/export': {
    get: operation(
      'The session as a file to share, with secrets removed',
      { 200: { description: 'A file', content: { 'application/octet-stream': {} } }, 404: FAILED },
      { parameters: [SESSION_ID, FORMAT] },
    ),
  },
  '/events': {
    get: operation(
      'Events of the default session',
      { 200: { description: 'Events', content: EVENTS } },
      {
        parameters: [AFTER, OTHER_SESSION],
      },
    ),
  },
  '/prompt': {
    post: operation(
      'Gives the default session a prompt',
      { 202: ok('The turn'), 409: FAILED },
      {
        ...body(PROMPT),
        parameters: [OTHER_SESSION],
      },
    ),
  },
  '/cancel': {
    post: operation('Interrupts the default session', { 200: ok('Done') }, { parameters: [OTHER_SESSION] }),
  },
  '/openapi.json': { get: operation('This description', { 200: ok('It') }) },
})

function operation(summary: string, responses: object, more: object = {}): object {
  return { summary, ...more, responses: { ...responses, 400: FAILED, 401: FAILED, 403: FAILED } }
}

function ok(description: string): object {
  return { description, content: json({}) }
}

function body(schema: z.ZodType): object {
  return { requestBody: { required: true, content: json(z.toJSONSchema(schema, { io: 'input' })) } }
}

function json(schema: unknown): object {
  return { 'application/json': { schema } }
}
