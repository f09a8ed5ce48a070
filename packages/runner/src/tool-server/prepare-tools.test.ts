import { type ClientToolDefinition, HarnessError, type JsonSchema } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { type PreparedTools, prepareTools } from './prepare-tools.ts'

function tool(overrides: Partial<ClientToolDefinition> = {}): ClientToolDefinition {
  return {
    name: 'echo',
    description: 'Says it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    handler: async () => ({ content: '' }),
    ...overrides,
  }
}

function problem(...tools: unknown[]): unknown {
  try {
    prepareTools(tools as ClientToolDefinition[], 'codex')
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error
    expect(error).toMatchObject({ code: 'invalid_query', harnessId: 'codex' })
    return error.message
  }
}

function complaint(inputSchema: JsonSchema, args: unknown): string | undefined {
  return find(prepareTools([tool({ inputSchema })], 'x'), 'echo').complaint(args)
}

function find(tools: PreparedTools, name: string) {
  const found = tools.byName.get(name)
  if (!found) throw new Error(`no ${name}`)
  return found
}

describe('a name', () => {
  test.each(['a', 'read_file', 'Read-File2', '__x', 'a__b', 'a'.repeat(64)])('%s is accepted', name => {
    expect(problem(tool({ name }))).toBeUndefined()
  })

  test.each(['', ' ', 'a b', 'a.b', 'a/b', 'é', 'a\n', 'a'.repeat(65), undefined, 7])(
    '%j is refused',
    name => {
      expect(problem({ ...tool(), name })).toBe(
        `Client tool ${JSON.stringify(name)}: the name must have 1 to 64 characters out of A-Z, a-z, 0-9, _ and -.`,
      )
    },
  )

  test('a duplicate name is refused', () => {
    expect(problem(tool(), tool())).toBe('Client tool "echo": there are two tools of this name.')
  })
})

test.each([
  ['no definition', undefined, /^Client tool undefined: /],
  ['no handler', { ...tool(), handler: undefined }, /the handler is not a function/],
  ['a description that is no text', { ...tool(), description: 7 }, /description: /],
])('%s is refused', (_what, definition, message) => {
  expect(problem(definition)).toMatch(message)
})

describe('a schema is refused that', () => {
  const cyclic: JsonSchema = { type: 'object' }
  cyclic.properties = { self: cyclic }
  test.each<[string, unknown, RegExp]>([
    ['is missing', undefined, /inputSchema/],
    ['is no object', 'object', /inputSchema/],
    ['is not about an object', { type: 'string' }, /inputSchema\.type/],
    ['says nothing about the type', {}, /inputSchema\.type/],
    ['has a cycle', cyclic, /inputSchema is not JSON/],
    [
      'has a property that is no schema',
      { type: 'object', properties: { a: 5 } },
      /inputSchema\.properties\.a/,
    ],
    ['has a type that does not exist', { type: 'object', properties: { a: { type: 'text' } } }, /text/],
    ['has a broken pattern', { type: 'object', properties: { a: { pattern: '(' } } }, /regular expression/],
    [
      'has a keyword of the wrong type',
      { type: 'object', properties: { a: { minLength: '1' } } },
      /minLength/,
    ],
    ['points nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/a' } } }, /#\/\$defs\/a/],
    [
      'reaches out to the network',
      { type: 'object', properties: { a: { $ref: 'https://x/y' } } },
      /https:\/\/x\/y/,
    ],
    ['would make every input valid', { type: 'object', $async: true }, /\$async/],
  ])('%s', (_what, inputSchema, message) => {
    expect(problem({ ...tool(), inputSchema })).toMatch(message)
  })
})

describe('an input', () => {
  test('a valid input gives no error', () => {
    expect(complaint(tool().inputSchema, { text: 'hi', more: 1 })).toBeUndefined()
  })

  test('that does not fit is told where', () => {
    const inputSchema = {
      type: 'object',
      properties: {
        files: { type: 'array', items: { type: 'object', properties: { line: { type: 'integer' } } } },
      },
      required: ['files'],
      additionalProperties: false,
    }
    expect(complaint(inputSchema, { files: [{ line: 1 }, { line: '2' }] })).toContain('/files/1/line')
    expect(complaint(inputSchema, {})).toContain("'files'")
    expect(complaint(inputSchema, { files: [], other: 1 })).toContain('additional properties')
  })

  test('is checked against definitions of the newest JSON Schema', () => {
    const inputSchema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { level: { $ref: '#/$defs/level' } },
      $defs: { level: { enum: ['low', 'high'] } },
    }
    expect(complaint(inputSchema, { level: 'low' })).toBeUndefined()
    expect(complaint(inputSchema, { level: 'none' })).toContain('/level')
  })
})

test('two schemas of one $id stay apart', () => {
  const number = { $id: 'input.json', type: 'object', properties: { a: { type: 'number' } } }
  const text = { $id: 'input.json', type: 'object', properties: { a: { type: 'string' } } }
  const prepared = prepareTools(
    [tool({ name: 'one', inputSchema: number }), tool({ name: 'two', inputSchema: text })],
    'x',
  )
  expect(find(prepared, 'one').complaint({ a: 1 })).toBeUndefined()
  expect(find(prepared, 'two').complaint({ a: 'x' })).toBeUndefined()
  expect(find(prepared, 'two').complaint({ a: 1 })).toContain('/a')
})

test('a change of the schema by the caller has no effect afterwards', () => {
  const inputSchema: JsonSchema = { type: 'object', properties: { a: { type: 'string' } } }
  const prepared = prepareTools([tool({ inputSchema })], 'x')
  inputSchema.properties = { a: { type: 'number' } }
  expect(prepared.listed[0]?.inputSchema.properties).toEqual({ a: { type: 'string' } })
  expect(find(prepared, 'echo').complaint({ a: 1 })).toContain('/a')
})

test('only what says so is listed as changing nothing', () => {
  const { listed } = prepareTools([tool(), tool({ name: 'look', readOnly: true })], 'x')
  expect(listed.map(({ annotations }) => annotations)).toEqual([undefined, { readOnlyHint: true }])
})
