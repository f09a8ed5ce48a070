/** Bytes of NDJSON as Claude Code prints them in a long session: always the same for the same size. */
export function claudeCorpus(bytes: number): Buffer {
  const random = createRandom(1)
  const lines: Buffer[] = []
  let size = 0
  let steps = 0
  while (size < bytes) {
    for (const event of step(random, steps)) {
      const line = Buffer.from(`${JSON.stringify(event)}\n`)
      lines.push(line)
      size += line.length
    }
    steps += 1
  }
  return Buffer.concat(lines)
}

/** A tool result, one line of about that many bytes: a log, so ASCII with an escaped newline every 70 characters. */
export function hugeLine(bytes: number): Buffer {
  const entry = '2026-01-01T00:00:00.000Z INFO request handled path=/api status=200\n'
  const text = entry.repeat(Math.ceil(bytes / 2 / (entry.length + 1)))
  return Buffer.from(`${JSON.stringify(toolResult('toolu_huge', text))}\n`)
}

// Per 100 deltas one tool result of about 25 KB, and three lines of 5 MB in 100 MB: what long sessions look like.
const DELTAS_PER_BLOCK = 50
const RESULT_CHARS = 12_000
const STEPS_PER_TURN = 20
const STEPS_PER_HUGE_RESULT = 600
const HUGE_RESULT_CHARS = 2_400_000

const SESSION = { session_id: '5b1f7a52-9c0e-4a51-8f7e-0d6c2f9b1a34', parent_tool_use_id: null }
const USAGE = {
  input_tokens: 12,
  cache_read_input_tokens: 48_211,
  cache_creation_input_tokens: 903,
  output_tokens: 7,
}
const WORDS =
  'the file reads config first then writes result because parser returns early when token is'.split(' ')

interface Random {
  below(limit: number): number
  uuid(): string
  words(chars: number): string
}

/** One request to the model and the tool result that answers it. */
function* step(random: Random, index: number) {
  const id = `msg_${index}`
  const tool = `toolu_${index}`
  const text = Array.from({ length: DELTAS_PER_BLOCK }, () => random.words(24))
  const input = Array.from({ length: DELTAS_PER_BLOCK }, () => random.words(24))
  const block = (content: object) => ({ ...assistant(id, content), uuid: random.uuid() })
  const stream = (event: object) => ({ type: 'stream_event', event, ...SESSION, uuid: random.uuid() })

  if (index % STEPS_PER_TURN === 0) yield init(random)
  yield stream({ type: 'message_start', message: { id, role: 'assistant', content: [], usage: USAGE } })
  yield stream({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  for (const part of text)
    yield stream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: part } })
  yield block({ type: 'text', text: text.join('') })
  yield stream({ type: 'content_block_stop', index: 0 })
  yield stream({
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: tool, name: 'Bash', input: {} },
  })
  for (const part of [`{"command":"`, ...input, `"}`])
    yield stream({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: part },
    })
  yield block({ type: 'tool_use', id: tool, name: 'Bash', input: { command: input.join('') } })
  yield stream({ type: 'content_block_stop', index: 1 })
  yield stream({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: USAGE })
  yield stream({ type: 'message_stop' })
  const huge = index % STEPS_PER_HUGE_RESULT === STEPS_PER_HUGE_RESULT - 1
  yield { ...toolResult(tool, code(random, huge ? HUGE_RESULT_CHARS : RESULT_CHARS)), uuid: random.uuid() }
  if (index % STEPS_PER_TURN === STEPS_PER_TURN - 1) yield result(random, index)
}

function init(random: Random) {
  const tools = ['Bash', 'Edit', 'Read', 'Write']
  return {
    type: 'system',
    subtype: 'init',
    ...SESSION,
    uuid: random.uuid(),
    model: 'claude',
    tools,
    mcp_servers: [],
  }
}

function assistant(id: string, content: object) {
  return {
    type: 'assistant',
    message: { id, role: 'assistant', content: [content], usage: USAGE },
    ...SESSION,
  }
}

/** The CLI prints the text twice: as the model sees it and as its own structured result. */
function toolResult(tool: string, text: string) {
  const content = [{ type: 'tool_result', tool_use_id: tool, content: text, is_error: false }]
  return {
    type: 'user',
    message: { role: 'user', content },
    ...SESSION,
    tool_use_result: { stdout: text, stderr: '' },
  }
}

function result(random: Random, index: number) {
  const text = random.words(400)
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    duration_ms: 1000 * index,
    num_turns: STEPS_PER_TURN,
    result: text,
    total_cost_usd: 0.01 * index,
    usage: USAGE,
    ...SESSION,
    uuid: random.uuid(),
  }
}

/** Source code, so quotes and newlines to escape; one file in five is not plain ASCII. */
function code(random: Random, chars: number): string {
  const lines: string[] = random.below(5) === 0 ? ['// → größer\n'] : []
  let size = 0
  while (size < chars) {
    const line = `  const ${random.uuid().slice(0, 8)} = await read("src/${random.below(1000)}.ts", { encoding: 'utf8' })\n`
    lines.push(line)
    size += line.length
  }
  return lines.join('')
}

function createRandom(seed: number): Random {
  let state = seed
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('')
  return {
    below,
    uuid: () => `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    words(chars) {
      // One character outside Latin-1 makes V8 use two bytes for each: about one delta in twenty has one.
      let text = below(20) === 0 ? '→ ' : ''
      while (text.length < chars) text += `${WORDS[below(WORDS.length)]} `
      return text
    },
  }
}
