import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { DescribedAnswers } from './support/described-answers.ts'
import { startTestServer } from './support/test-server.ts'

type Json = Record<string, unknown>

const FILE = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url))
const document = JSON.parse(readFileSync(FILE, 'utf8'))
const operations = Object.values<Record<string, Json>>(document.paths).flatMap(path => Object.values(path))

/** What is at a place of the document; a reference that leads to a reference is followed, too. */
function resolved(pointer: string, seen: string[] = []): unknown {
  if (seen.includes(pointer)) throw new Error(`${[...seen, pointer].join(' → ')} leads to itself`)
  const names = pointer.slice('#/'.length).split('/')
  const value = names.reduce<unknown>(
    (at, name) => (at as Json | undefined)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  )
  const { $ref } = (value ?? {}) as { $ref?: string }
  return $ref === undefined ? value : resolved($ref, [...seen, pointer])
}

test('each reference leads to a definition, and each definition is referred to', () => {
  const wanted = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to = '']) => to),
  )
  expect([...wanted].filter(pointer => resolved(pointer) === undefined)).toEqual([])
  const there = ['schemas', 'responses'].flatMap(kind =>
    Object.keys(document.components[kind]).map(name => `#/components/${kind}/${name}`),
  )
  expect([...wanted].sort()).toEqual(there.sort())
})

test('each schema is one that a strict validator takes', () => {
  const answers = new DescribedAnswers(document)
  for (const pointer of [...schemaPointers(document, '#')]) answers.validator(pointer)
  expect(answers.validator('#/components/schemas/Error')({ error: { code: 'x' } })).toBe(false)
  expect(answers.validator('#/components/schemas/Session')({ id: 'x' })).toBe(false)
})

/** Every place of the document that has a schema for a value as a whole. */
function* schemaPointers(value: unknown, at: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    const here = `${at}/${encodeURI(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`
    if (name === 'schema' || name === 'x-data' || at === '#/components/schemas') yield here
    else yield* schemaPointers(part, here)
  }
}

test('each operation has a name of its own, that a program can use as one', () => {
  const names = operations.map(({ operationId }) => operationId as string)
  expect(names.filter(name => !/^[a-z]\w+$/i.test(name ?? ''))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
})

test('openapi-typescript makes types of it, which compile and say what the server answers', async () => {
  const folder = mkdtempSync(fileURLToPath(new URL('../.openapi-client-', import.meta.url)))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const bin = path.join(import.meta.dirname, '..', 'node_modules', '.bin')
  const run = promisify(execFile)
  await run(path.join(bin, 'openapi-typescript'), [FILE, '-o', path.join(folder, 'client.ts')])
  writeFileSync(path.join(folder, 'use.ts'), USE)
  const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: [] }
  const compilerOptions = { ...options, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true }
  writeFileSync(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck: false } }),
  )
  const compiled = await run(path.join(bin, 'tsc'), ['-p', folder]).catch(
    (error: { stdout: string }) => error,
  )
  expect(compiled.stdout).toBe('')
})

const USE = `import type { components, operations } from './client.ts'
type Created = operations['createSession']['responses'][201]['content']['application/json']
export const titleOf = ({ session }: Created): string | null | undefined => session.title
export const reasonOf = ({ error }: components['schemas']['CallError']): string | null => error.data.reason
type Refused = operations['createSession']['responses'][405 | 415]['content']['application/json']
export const codeOf = ({ error }: Refused): string => error.code
// @ts-expect-error A session has no such field: were it any, this would compile.
export const nothing = ({ session }: Created) => session.noSuchField
`

test('an answer with a status or a body that is not described is noticed', async () => {
  const answers = new DescribedAnswers(document)
  const url = new URL('http://server/api/harness/decisions')
  const json = 'application/json; charset=utf-8'
  answers.answer('GET', url, 200, json, () => '{"pending":[]}')
  expect(answers.faults).toEqual([])
  answers.answer('GET', url, 418, json, () => '{"error":{"code":"tea","message":"pot"}}')
  answers.answer('GET', url, 200, json, () => '{"pending":{}}')
  answers.answer('GET', url, 404, json, () => '{"message":"not the form of an error"}')
  answers.answer('GET', new URL('http://server/api/harness/nothing'), 200, json, () => '{}')
  answers.event('GET', new URL('http://server/events'), 'id: 1\ndata: {"type":"no such event"}')
  expect(answers.faults.map(fault => fault.split(':')[0])).toEqual([
    'GET /api/harness/decisions 418',
    'GET /api/harness/decisions 200',
    'GET /api/harness/decisions 404',
    'GET /api/harness/nothing 200',
    'GET /events event',
  ])
})

test('another method, another content type and a refused procedure are answered as described', async () => {
  const server = await startTestServer()
  const put = await server.fetch('/api/harness/decisions', { method: 'PUT' })
  const text = await server.fetch('/prompt', {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': 'text/plain' },
  })
  const wrongly = await server.fetch('/trpc/sessions.get?input=%7B%7D')
  const missing = await server.fetch('/trpc/no.such')
  const mutation = await server.fetch('/trpc/sessions.delete')
  const statuses = [put, text, wrongly, missing, mutation].map(({ status }) => status)
  expect(statuses).toEqual([405, 415, 400, 404, 405])
  for (const { responses } of operations as { responses: Json }[]) {
    const said = Object.keys(responses)
    expect([
      said.includes('405') || said.includes('4XX'),
      said.includes('415') || said.includes('4XX'),
    ]).toEqual([true, true])
  }
})
