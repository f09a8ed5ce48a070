import { describe, expect, test } from 'vitest'
import { checkScript, parseScript, ScriptError } from './parse-script.ts'

describe('a good script', () => {
  test('may use every key', () => {
    const script = parseScript(`
defaults: { delayMs: 1, chunkDelayMs: 2.5, chunkChars: 8, usage: { input: 1 } }
countTokens: 12
answers:
  - Just text.
  - thinking: Hmm.
    signature: c2ln
    text: { repeat: ab, bytes: 11534336 }
    tool: Bash
    input: { command: ls }
    id: toolu_1
    stopReason: tool_use
    usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, reasoning: 5 }
    headers: { x-extra: '1' }
    times: 2
  - blocks:
      - text: a
      - { thinking: b }
      - { tool: apply_patch, input: "*** Begin Patch", namespace: x }
      - raw: { type: redacted_thinking, data: x }
    stallAfter: 3
    cutAfter: nothing
    chunkChars: all
    streamError: { after: 0, type: api_error, message: no }
  - { error: 529, times: 3, delayMs: 1 }
  - error: { status: 429, type: t, message: m, retryAfterSeconds: 1.5, headers: { x-should-retry: 'false' } }
  - error: { status: 400, body: { any: [thing] } }
routes:
  - when: { modelContains: haiku, lastUserMatches: '^a+$', subAgent: true, side: title, api: messages }
    answers: []
    otherwise: nothing more
otherwise: { error: 404 }
`)
    expect(script.answers).toHaveLength(6)
    expect(script.routes?.[0]?.when).toMatchObject({ modelContains: 'haiku', side: 'title' })
  })

  test('may be JSON, also with tabs', () => {
    expect(parseScript('{\n\t"answers": [\n\t\t{ "text": "a" }\n\t]\n}')).toEqual({
      answers: [{ text: 'a' }],
    })
  })

  test('may use YAML anchors', () => {
    expect(parseScript('answers:\n  - &a { text: x }\n  - *a\n').answers).toEqual([
      { text: 'x' },
      { text: 'x' },
    ])
  })

  test('may be empty of answers', () => {
    expect(parseScript('{}')).toEqual({})
  })
})

describe('a wrong script names the place and what is allowed there', () => {
  test.each([
    ['an empty file', '', 's.yaml:1:1: expected object, received null'],
    ['a list at the top', '- a', 's.yaml:1:1: expected object, received array'],
    ['an unclosed quote', 'answers:\n  - "a', 's.yaml:2:7: Missing closing "quote'],
    ['unclosed JSON', '{ "answers": [', 's.yaml:1:15: Flow sequence in block collection'],
    ['a key twice', 'answers: []\nanswers: []', 's.yaml:2:1: Map keys must be unique'],
    [
      'an unknown top key',
      'answer: []',
      's.yaml:1:1 answer: unknown key "answer", did you mean "answers"? Allowed here: answers, routes, otherwise, defaults, countTokens',
    ],
    [
      'a key that is like no other',
      'answers: []\nxyz: 1',
      's.yaml:2:1 xyz: unknown key "xyz". Allowed here: answers,',
    ],
    [
      'two unknown keys',
      'answr: []\nroute: []',
      'unknown key "answr", did you mean "answers"? And "route", did you mean "routes"?',
    ],
    ['answers that are no list', 'answers: hello', 's.yaml:1:1 answers: expected array, received string'],
    [
      'an answer that is a number',
      'answers:\n  - a\n  - 7',
      's.yaml:3:5 answers[1]: an answer needs one of the keys error, blocks, text, thinking, tool',
    ],
    [
      'a misspelt answer',
      'answers:\n  - txt: a',
      's.yaml:2:5 answers[0]: an answer needs one of the keys error, blocks, text, thinking, tool; did you mean "text"?',
    ],
    [
      'a misspelt option',
      'answers:\n  - text: a\n    stop_reason: end_turn',
      's.yaml:3:5 answers[0].stop_reason: unknown key "stop_reason", did you mean "stopReason"?',
    ],
    [
      'a wrong stop reason',
      'answers:\n  - text: a\n    stopReason: done',
      's.yaml:3:5 answers[0].stopReason: expected one of "end_turn"|"tool_use"',
    ],
    [
      'text and blocks',
      'answers:\n  - text: a\n    blocks: [{ text: b }]',
      's.yaml:2:5 answers[0].text: unknown key "text".',
    ],
    [
      'no blocks',
      'answers:\n  - blocks: []',
      's.yaml:2:5 answers[0].blocks: Too small: expected array to have >=1 items',
    ],
    [
      'a block without a kind',
      'answers:\n  - blocks:\n      - text: a\n      - toool: x',
      's.yaml:4:9 answers[0].blocks[1]: a block needs one of the keys text, thinking, tool, raw; did you mean "tool"?',
    ],
    [
      'a tool name that is a number',
      'answers:\n  - blocks:\n      - tool: 7',
      's.yaml:3:9 answers[0].blocks[0].tool: expected string, received number',
    ],
    [
      'a tool input that is a list',
      'answers:\n  - tool: x\n    input: [1]',
      's.yaml:3:5 answers[0].input: expected object, received array',
    ],
    [
      'an input without a tool',
      'answers:\n  - text: x\n    input: {}',
      's.yaml:2:5 answers[0]: `input`, `id` and `namespace` belong to a `tool`, and there is none',
    ],
    [
      'a signature without thinking',
      'answers:\n  - text: x\n    signature: a',
      's.yaml:2:5 answers[0]: `signature` belongs to a `thinking`, and there is none',
    ],
    [
      'a raw block without a type',
      'answers:\n  - blocks: [{ raw: {} }]',
      's.yaml:2:21 answers[0].blocks[0].raw.type: missing; expected string',
    ],
    [
      'a repeat without bytes',
      'answers:\n  - text: { repeat: x }',
      's.yaml:2:11 answers[0].text.bytes: missing; expected number',
    ],
    [
      'an empty repeat',
      'answers:\n  - text: { repeat: "", bytes: 1 }',
      's.yaml:2:13 answers[0].text.repeat: Too small',
    ],
    [
      'half a token',
      'answers:\n  - text: a\n    usage: { input: 1.5 }',
      's.yaml:3:14 answers[0].usage.input: expected int, received number',
    ],
    [
      'a negative delay',
      'answers:\n  - text: a\n    delayMs: -1',
      's.yaml:3:5 answers[0].delayMs: Too small: expected number to be >=0',
    ],
    [
      'a wrong progress word',
      'answers:\n  - text: a\n    stallAfter: all',
      's.yaml:3:5 answers[0].stallAfter: expected "nothing"',
    ],
    [
      'a wrong chunk word',
      'answers:\n  - text: a\n    chunkChars: whole',
      's.yaml:3:5 answers[0].chunkChars: expected "all"',
    ],
    [
      'zero times',
      'answers:\n  - text: a\n    times: 0',
      's.yaml:3:5 answers[0].times: Too small: expected number to be >=1',
    ],
    [
      'a status that is no error',
      'answers:\n  - error: 200',
      's.yaml:2:5 answers[0].error: Too small: expected number to be >=400',
    ],
    [
      'an error without a status',
      'answers:\n  - error: { message: x }',
      's.yaml:2:12 answers[0].error.status: missing; expected number',
    ],
    [
      'a misspelt retry-after',
      'answers:\n  - error: { status: 429, retryAfter: 1 }',
      's.yaml:2:27 answers[0].error.retryAfter: unknown key "retryAfter", did you mean "retryAfterSeconds"?',
    ],
    [
      'text beside an error',
      'answers:\n  - error: 500\n    text: a',
      's.yaml:3:5 answers[0].text: unknown key "text". Allowed here: error, delayMs, times',
    ],
    [
      'a header that is a number',
      'answers:\n  - text: a\n    headers: { retry-after: 1 }',
      's.yaml:3:16 answers[0].headers.retry-after: expected string, received number',
    ],
    [
      'a bad header value',
      'answers:\n  - text: a\n    headers: { x: "a\\nb" }',
      's.yaml:3:16 answers[0].headers.x: not a header value',
    ],
    [
      'a bad header name',
      'answers:\n  - text: a\n    headers: { "x y": a }',
      's.yaml:3:16 answers[0].headers.x y: not a header name',
    ],
    [
      'a route without when',
      'routes:\n  - answers: []',
      's.yaml:2:5 routes[0].when: missing; expected object',
    ],
    [
      'a route that fits all',
      'routes:\n  - when: {}\n    answers: []',
      's.yaml:2:5 routes[0].when: an empty `when` would match every request',
    ],
    [
      'a misspelt condition',
      'routes:\n  - when: { lastUserContain: a }\n    answers: []',
      's.yaml:2:13 routes[0].when.lastUserContain: unknown key "lastUserContain", did you mean "lastUserContains"?',
    ],
    [
      'a bad pattern',
      'routes:\n  - when: { lastUserMatches: "(" }\n    answers: []',
      's.yaml:2:13 routes[0].when.lastUserMatches: not a regular expression',
    ],
    ['a wrong otherwise', 'otherwise: 5', 's.yaml:1:1 otherwise: an answer needs one of the keys'],
  ])('%s', (_name, text, message) => {
    expect(() => parseScript(text, 's.yaml')).toThrow(ScriptError)
    expect(() => parseScript(text, 's.yaml')).toThrow(message)
  })

  test('all problems are told at once, one a line', () => {
    const text = 'answers:\n  - txt: a\n  - error: 5\n'
    try {
      parseScript(text, 's.yaml')
      expect.unreachable()
    } catch (error) {
      const { problems, message } = error as ScriptError
      expect(problems).toMatchObject([
        { path: 'answers[0]', line: 2, column: 5 },
        { path: 'answers[1].error', line: 3, column: 5 },
      ])
      expect(message.split('\n')).toHaveLength(2)
    }
  })

  test('a script built in code gets the path alone', () => {
    expect(() => checkScript({ answers: [{ text: 'a', tims: 2 }] })).toThrow(
      'script answers[0].tims: unknown key "tims", did you mean "times"?',
    )
  })
})
