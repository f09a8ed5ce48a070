// Every answer that a server gives in these tests, to whatever client, has to be in docs/openapi.json: by its path,
// method and status, and with a body that fits the schema there. A setup file of the tests.
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterEach, expect } from 'vitest'

interface Content {
  schema?: object
  'x-data'?: object
}
interface Described {
  $ref?: string
  content?: Record<string, Content>
}
interface Place {
  /** Pointer to the response. */
  at: string
  response: Described
}
interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Described> }>>
  components: { responses: Record<string, Described>; schemas: Record<string, object> }
}

/** Validates answers against a document, and remembers which did not fit. */
export class DescribedAnswers {
  readonly faults: string[] = []
  readonly #document: Document
  // Each definition is compiled once and as it is: inlined and optimized, all of them take three times as long.
  readonly #ajv = new Ajv2020({
    ...{ strict: true, strictTypes: true },
    ...{ inlineRefs: false, code: { optimize: false } },
  })
  readonly #compiled = new Map<string, ValidateFunction>()
  readonly #seen = new Set<string>()
  readonly #paths: { pattern: RegExp; path: string }[]

  constructor(document: Document) {
    this.#document = document
    addFormats.default(this.#ajv)
    // Schemas are addressed within the document; its other parts are no schema.
    this.#ajv.addVocabulary(Object.keys(document))
    this.#ajv.addSchema(document, 'openapi')
    this.#paths = Object.keys(document.paths)
      // A path without parameters is the one that is meant.
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
      .map(path => ({
        path,
        pattern: new RegExp(`^${path.replace(/\./g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
      }))
  }

  /** How the document describes an answer; undefined for what is none of the API: the dashboard. */
  #described(method: string, pathname: string, status: number): Place | undefined {
    const path = this.#paths.find(({ pattern }) => pattern.test(pathname))?.path
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = path && this.#document.paths[path]?.[verb]
    if (path !== undefined && operation) {
      const { responses } = operation
      const key = [String(status), `${Math.floor(status / 100)}XX`].find(name => name in responses)
      const response = key && responses[key]
      if (!response) throw new Error(`${status} is not described`)
      if (response.$ref !== undefined) return this.#component(response.$ref.split('/').at(-1) ?? '')
      return { at: `#/paths/${escaped(path)}/${verb}/responses/${key}`, response }
    }
    if (path === undefined && !/^\/(?:api|trpc)(?:\/|$)/.test(pathname)) return undefined
    // A path or a method that does not exist: only refusals.
    if (status < 400) throw new Error('the operation is not described')
    return this.#component(pathname.startsWith('/trpc/') ? 'CallRefused' : 'Refused')
  }

  #component(name: string): Place {
    const response = this.#document.components.responses[name] as Described
    return { at: `#/components/responses/${name}`, response }
  }

  validator(pointer: string): ValidateFunction {
    const known = this.#compiled.get(pointer)
    const made = known ?? this.#ajv.getSchema(`openapi${pointer}`)
    if (made === undefined) throw new Error(`${pointer} leads nowhere`)
    this.#compiled.set(pointer, made as ValidateFunction)
    return made as ValidateFunction
  }

  #check(pointer: string, value: unknown): void {
    const validate = this.validator(pointer)
    if (!validate(value))
      throw new Error(`${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 2000)}`)
  }

  /** Checks a complete answer. */
  answer(method: string, url: URL, status: number, type: string, body: () => string): void {
    // Some tests send the same request thousands of times.
    const same = `${method} ${url.pathname} ${status} ${type} ${body().slice(0, MAX_SAME_CHARS)}`
    if (this.#seen.has(same)) return
    if (body().length < MAX_SAME_CHARS) this.#seen.add(same)
    this.#noting(`${method} ${url.pathname} ${status}`, () => {
      if (url.searchParams.get('batch') === '1' && url.pathname.startsWith('/trpc/'))
        return this.#batch(method, url.pathname, status, body)
      const found = this.#described(method, url.pathname, status)
      if (found === undefined) return
      const { at, response } = found
      const offered = Object.keys(response.content ?? {})
      const [mime = ''] = type.split(';')
      if (offered.length === 0) {
        if (type !== '') throw new Error(`a body of ${mime} is not described`)
      } else if (mime === 'text/event-stream' && offered.includes(mime)) {
        // Its events were checked as they came.
      } else if (offered.includes('application/json')) {
        if (mime !== 'application/json') throw new Error(`${mime || 'no body'} in the place of JSON`)
        if (method !== 'HEAD') this.#check(`${at}/content/application~1json/schema`, JSON.parse(body()))
      } else if (!offered.includes(mime) && !offered.includes('application/octet-stream')) {
        throw new Error(`${mime} is not described`)
      }
    })
  }

  /** Several procedures in one request, whose answers are in one array. */
  #batch(method: string, pathname: string, status: number, body: () => string): void {
    const answers = JSON.parse(body()) as { error?: { data?: { httpStatus?: number } } }[]
    if (!Array.isArray(answers))
      return this.#check('#/components/responses/CallRefused/content/application~1json/schema', answers)
    for (const [i, name] of pathname.slice('/trpc/'.length).split(',').entries()) {
      const own = answers[i]?.error?.data?.httpStatus ?? (status === 207 ? 200 : status)
      const url = new URL(`http://server/trpc/${name}`)
      this.answer(method, url, own, 'application/json', () => JSON.stringify(answers[i]))
    }
  }

  /** Checks one event of a stream. */
  event(method: string, url: URL, block: string): void {
    this.#noting(`${method} ${url.pathname} event`, () => {
      const data = block.split('\n').find(line => line.startsWith('data:'))
      const found = this.#described(method, url.pathname, 200)
      if (data === undefined || found === undefined) return
      const { at, response } = found
      if (response.content?.['text/event-stream'] === undefined) throw new Error('no stream is described')
      this.#check(`${at}/content/text~1event-stream/x-data`, JSON.parse(data.slice('data:'.length)))
    })
  }

  #noting(what: string, check: () => void): void {
    try {
      check()
    } catch (error) {
      this.faults.push(`${what}: ${(error as Error).message}`)
    }
  }
}

const MAX_SAME_CHARS = 300
/** Of one type in one stream: a log of thousands says nothing more. */
const MAX_EVENTS = 100

function escaped(path: string): string {
  return encodeURI(path.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** Sees what a server of this process writes, without changing it. */
function watch(answers: DescribedAnswers, request: IncomingMessage, response: ServerResponse): void {
  const target = request.url ?? ''
  if (!target.startsWith('/') || !URL.canParse(`http://server${target}`)) return
  const url = new URL(`http://server${target}`)
  const method = request.method ?? ''
  const type = () => String(response.getHeader('content-type') ?? '')
  let text = ''
  const counts = new Map<string, number>()
  const decoder = new TextDecoder()
  const see = (chunk: unknown) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    const mime = type()
    const isEvents = mime.startsWith('text/event-stream')
    if (!isEvents && !mime.startsWith('application/json')) return
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    // What tRPC streams is not described.
    if (!isEvents || url.pathname.startsWith('/trpc/')) return
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const kind = /^event: (.*)$/m.exec(block)?.[1] ?? ''
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      if (count <= MAX_EVENTS) answers.event(method, url, block)
    }
  }
  const { write, end } = response
  response.write = ((...args: Parameters<typeof write>) => {
    see(args[0])
    return write.apply(response, args)
  }) as typeof write
  response.end = ((...args: Parameters<typeof end>) => {
    see(args[0])
    return end.apply(response, args)
  }) as typeof end
  response.once('finish', () => {
    // Not of the server under test: a model, a tool server, a page of a test.
    if (!response.hasHeader('permissions-policy')) return
    if (type().startsWith('text/event-stream') && url.pathname.startsWith('/trpc/')) return
    answers.answer(method, url, response.statusCode, type(), () => text)
  })
}

/** One for all files that this process runs. */
const KEY = Symbol.for('chirality.described-answers')
const shared = globalThis as { [KEY]?: DescribedAnswers }

shared[KEY] ??= begin()
const describedAnswers = shared[KEY]

function begin(): DescribedAnswers {
  const file = new URL('../../../../docs/openapi.json', import.meta.url)
  const answers = new DescribedAnswers(JSON.parse(readFileSync(file, 'utf8')))
  subscribe('http.server.request.start', message => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    watch(answers, request, response)
  })
  return answers
}

afterEach(() => {
  expect(describedAnswers.faults.splice(0), 'answers that docs/openapi.json does not describe').toEqual([])
})
